package gameapi

import (
	"container/list"
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/musterhq/muster/agent/handover"
)

// conns counts the open connections. One whose program has not presented the token of a
// process yet is a stranger, unless a former agent had accepted it.
type conns struct {
	mu        sync.Mutex
	open      int
	strangers *list.List // of *conn, oldest first
	of        map[*Process]map[*conn]bool
}

func newConns() *conns {
	return &conns{strangers: list.New(), of: map[*Process]map[*conn]bool{}}
}

// listener counts the connections that it accepts.
type listener struct {
	net.Listener
	conns *conns
}

// conn is a counted connection.
type conn struct {
	net.Conn
	conns    *conns
	over     bool          // guarded by conns.mu, like the rest
	p        *Process      // nil for a stranger
	stranger *list.Element // nil if it is none
}

type connKey struct{} // of a request's *conn

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// Accept returns the next connection. If there are too many, the oldest stranger is closed,
// or the new connection if there is none.
func (l *listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.conns.enter(raw); c != nil {
			return c, nil
		}
		raw.Close()
	}
}

func (s *conns) enter(raw net.Conn) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, ok := raw.(*handover.Conn)
	known := ok && before.Former
	if !known && s.strangers.Len() >= maxStrangers || s.open >= maxConnections {
		oldest := s.strangers.Front()
		if oldest == nil {
			return nil
		}
		victim := oldest.Value.(*conn)
		s.leave(victim)
		victim.Conn.Close()
	}
	c := &conn{Conn: raw, conns: s}
	if !known {
		c.stranger = s.strangers.PushBack(c)
	}
	s.open++
	return c
}

// leave stops counting a connection. s.mu must be held.
func (s *conns) leave(c *conn) {
	if c.over {
		return
	}
	c.over = true
	s.open--
	if c.stranger != nil {
		s.strangers.Remove(c.stranger)
	}
	s.part(c)
}

// part takes a connection from its process. s.mu must be held.
func (s *conns) part(c *conn) {
	if c.p == nil {
		return
	}
	delete(s.of[c.p], c)
	if len(s.of[c.p]) == 0 {
		delete(s.of, c.p)
	}
	c.p = nil
}

// claim counts the connection of a request as one of a process. Error: rate-limited.
func (s *conns) claim(r *http.Request, p *Process) error {
	c, ok := r.Context().Value(connKey{}).(*conn)
	if !ok {
		return nil // a test without a listener
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.over || c.p == p {
		return nil
	}
	if len(s.of[p]) >= maxOpen {
		busy := problem(http.StatusTooManyRequests, "rate-limited", "", fmt.Sprintf("the process has %d connections open, which is the limit", maxOpen), "use connections again, or close them")
		busy.retryAfter = 1
		return busy
	}
	s.part(c)
	if c.stranger != nil {
		s.strangers.Remove(c.stranger)
		c.stranger = nil
	}
	if s.of[p] == nil {
		s.of[p] = map[*conn]bool{}
	}
	c.p, s.of[p][c] = p, true
	return nil
}

// forget closes the connections of a process that has ended.
func (s *conns) forget(p *Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.of[p] {
		s.leave(c)
		c.Conn.Close()
	}
}

// NetConn returns the connection below.
func (c *conn) NetConn() net.Conn { return c.Conn }

// Close closes the connection.
func (c *conn) Close() error {
	c.conns.mu.Lock()
	c.conns.leave(c)
	c.conns.mu.Unlock()
	return c.Conn.Close()
}
