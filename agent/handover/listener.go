package handover

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// Listener is a listener of Sockets whose connections carry HTTP. The server that serves it
// must have State as its ConnState.
type Listener struct {
	s     *Sockets
	inner net.Listener

	mu        sync.Mutex
	former    []net.Conn // of the former agent; Accept returns them first
	accepting int        // calls of Accept under way
	conns     map[*Conn]bool
	draining  bool
	changed   chan struct{} // closed and replaced when there is less to wait for
}

// Conn is a connection.
type Conn struct {
	net.Conn
	l *Listener

	// Former says that the former agent had accepted the connection.
	Former bool

	// guarded by l.mu
	rests bool      // nothing of a request has been read since the last answer
	gone  bool      // it is passed on
	ahead bool      // net/http has read the first byte of the next request
	until time.Time // the deadline of Read that was set
}

// Addr returns the address.
func (l *Listener) Addr() net.Addr { return l.inner.Addr() }

// Accept returns the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	l.mu.Lock()
	if len(l.former) > 0 && !l.draining {
		defer l.mu.Unlock()
		raw := l.former[0]
		l.former = l.former[1:]
		return l.add(raw, true), nil
	}
	l.accepting++
	l.mu.Unlock()
	raw, err := l.inner.Accept()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accepting--
	l.change()
	if err != nil {
		return nil, err
	}
	return l.add(raw, false), nil
}

// add returns a connection that rests. l.mu must be held.
func (l *Listener) add(raw net.Conn, former bool) *Conn {
	c := &Conn{Conn: raw, l: l, Former: former, rests: true}
	l.conns[c] = true
	return c
}

// change wakes Drain. l.mu must be held.
func (l *Listener) change() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// Close stops accepting here. If the sockets are passed on, the system goes on for the next
// agent.
func (l *Listener) Close() error {
	l.s.forget(l.inner)
	return l.inner.Close()
}

// Drain closes the listener, and waits until all requests are answered, or ctx ends. Each
// connection is passed to the next agent once it rests, or closed if sockets are not passed
// on.
func (l *Listener) Drain(ctx context.Context) {
	l.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.draining = true
	for _, raw := range l.former { // that nobody has accepted
		l.pass(raw)
		raw.Close()
	}
	l.former = nil
	for c := range l.conns {
		if c.rests {
			c.Conn.SetReadDeadline(past)
		}
	}
	for (len(l.conns) > 0 || l.accepting > 0) && ctx.Err() == nil {
		changed := l.changed
		l.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		l.mu.Lock()
	}
}

// Drain stops accepting, and waits until the requests of some listeners are answered, but not for
// longer than a time for all.
func Drain(within time.Duration, listeners ...*Listener) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for _, l := range listeners {
		l.Drain(ctx)
	}
}

// past is a deadline that ends every wait.
var past = time.Unix(1, 0)

// pass keeps a connection for the next agent, if there is one. l.mu must be held.
func (l *Listener) pass(raw net.Conn) {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if p, ok := raw.(passable); ok && l.s.passing {
		_ = l.s.keep(p, connects)
	}
}

// State is the ConnState of servers.
func State(c net.Conn, state http.ConnState) {
	for {
		if own, ok := c.(*Conn); ok {
			own.become(state)
			return
		}
		above, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return
		}
		c = above.NetConn()
	}
}

func (c *Conn) become(state http.ConnState) {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	switch state {
	case http.StateIdle:
		c.rests, c.ahead = !c.ahead, false
	case http.StateHijacked:
		c.leave()
	}
}

// leave ends that Drain waits for the connection. l.mu must be held.
func (c *Conn) leave() {
	if c.l.conns[c] {
		delete(c.l.conns, c)
		c.l.change()
	}
}

// Read reads. When the listener drains, a connection that rests is passed on and seems to end.
func (c *Conn) Read(b []byte) (int, error) {
	if c.passed() {
		return 0, io.EOF
	}
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.l.mu.Lock()
		defer c.l.mu.Unlock()
		c.ahead = len(b) == 1              // net/http reads one byte to notice the end of a connection while a request is handled
		if c.rests = false; c.l.draining { // Drain may have ended the wait for what has just come
			c.Conn.SetReadDeadline(c.until)
		}
		return n, err
	}
	if errors.Is(err, os.ErrDeadlineExceeded) && c.passed() {
		return 0, io.EOF
	}
	return n, err
}

// passed passes the connection on if it is time for it.
func (c *Conn) passed() bool {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	if c.l.draining && c.rests && c.l.conns[c] {
		c.gone = true
		c.l.pass(c.Conn)
		c.leave()
	}
	return c.gone
}

// SetReadDeadline sets the deadline of Read. A connection that is to be passed on waits for
// nothing.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	c.until = t
	if c.l.draining && c.rests && c.l.conns[c] {
		t = past
	}
	return c.Conn.SetReadDeadline(t)
}

// Close closes the connection here. One that was passed on stays open.
func (c *Conn) Close() error {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	c.leave()
	return c.Conn.Close()
}
