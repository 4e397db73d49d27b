package door

import (
	"container/list"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// allStrangers times Options.Strangers is how many strangers all networks together may
// have.
const allStrangers = 16

// conns counts connections.
type conns struct {
	most, strangers int
	proxies         Proxies
	patience        time.Duration
	closed          atomic.Int64 // connections closed to make room
	slow            atomic.Int64 // connections closed because they read too slowly

	mu   sync.Mutex
	open int
	all  *list.List                  // of *conn: the strangers, oldest first
	of   map[netip.Prefix]*list.List // the strangers by network, oldest first
}

func newConns(o Options) *conns {
	return &conns{most: o.Connections, strangers: o.Strangers, proxies: o.Proxies, patience: o.WritePatience, all: list.New(), of: map[netip.Prefix]*list.List{}}
}

// listener counts the connections that it accepts.
type listener struct {
	net.Listener
	conns *conns
}

// Accept returns the next connection that is within the limits; it closes others.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if counted, ok := l.conns.enter(c); ok {
			return counted, nil
		}
		c.Close()
	}
}

// conn is a counted connection.
type conn struct {
	net.Conn
	conns   *conns
	network netip.Prefix
	pace    pace
	gone    bool          // guarded by conns.mu, like the following fields
	inAll   *list.Element // nil once the client is known
	inOf    *list.Element
}

// enter counts a new connection. If there are too many, it closes the oldest stranger;
// it reports false if there is none to close.
func (s *conns) enter(raw net.Conn) (*conn, bool) {
	addr := addressOf(raw.RemoteAddr().String())
	c := &conn{Conn: raw, conns: s, network: Network(addr), pace: pace{most: s.patience, left: s.patience}}
	s.mu.Lock()
	victim := s.victim(c.network)
	if victim == nil && s.open >= s.most {
		s.mu.Unlock()
		s.closed.Add(1)
		return nil, false
	}
	if victim != nil {
		s.leave(victim)
	}
	s.open++
	if !s.proxies.Has(addr) {
		s.addStranger(c)
	}
	s.mu.Unlock()
	if victim != nil {
		s.closed.Add(1)
		victim.Conn.Close()
	}
	return c, true
}

// victim returns the stranger that must be closed before another connection from a
// network is accepted, or nil. The caller must hold s.mu.
func (s *conns) victim(network netip.Prefix) *conn {
	oldest := s.all
	switch of := s.of[network]; {
	case of != nil && of.Len() >= s.strangers:
		oldest = of
	case s.open >= s.most || s.all.Len() >= allStrangers*s.strangers:
	default:
		return nil
	}
	if first := oldest.Front(); first != nil {
		return first.Value.(*conn)
	}
	return nil
}

// addStranger adds a connection to the strangers. The caller must hold s.mu.
func (s *conns) addStranger(c *conn) {
	of := s.of[c.network]
	if of == nil {
		of = list.New()
		s.of[c.network] = of
	}
	c.inAll, c.inOf = s.all.PushBack(c), of.PushBack(c)
}

// dropStranger removes a connection from the strangers. The caller must hold s.mu.
func (s *conns) dropStranger(c *conn) {
	if c.inAll == nil {
		return
	}
	s.all.Remove(c.inAll)
	of := s.of[c.network]
	of.Remove(c.inOf)
	if of.Len() == 0 {
		delete(s.of, c.network)
	}
	c.inAll, c.inOf = nil, nil
}

// leave stops counting a connection. The caller must hold s.mu.
func (s *conns) leave(c *conn) {
	if c.gone {
		return
	}
	c.gone = true
	s.open--
	s.dropStranger(c)
}

func (s *conns) count() (open, strangers int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open, s.all.Len()
}

// Close closes the connection and stops counting it.
func (c *conn) Close() error {
	c.conns.mu.Lock()
	c.conns.leave(c)
	c.conns.mu.Unlock()
	return c.Conn.Close()
}

// SyscallConn implements syscall.Conn.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	if of, ok := c.Conn.(syscall.Conn); ok {
		return of.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// CloseWrite closes the writing side, so that the peer can read the response to a
// request that was not read completely.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

type (
	connKey   struct{} // of a request's *conn
	answerKey struct{} // of the response header of a request that another node forwarded
)

// connOf returns the counted connection that c is or wraps, or nil.
func connOf(c net.Conn) *conn {
	for {
		if found, ok := c.(*conn); ok {
			return found
		}
		outer, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		c = outer.NetConn()
	}
}

// KnownHeader is the response header from which the node that forwarded a request
// learns that its sender is known.
const KnownHeader = "Muster-Known"

// Known records that the sender of a request is authenticated: its connection is no
// longer a stranger.
func Known(r *http.Request) {
	if answer, ok := r.Context().Value(answerKey{}).(http.Header); ok {
		answer.Set(KnownHeader, "true")
	}
	c, ok := r.Context().Value(connKey{}).(*conn)
	if !ok {
		return
	}
	c.conns.mu.Lock()
	defer c.conns.mu.Unlock()
	c.conns.dropStranger(c)
}

// UpgradeHeader returns the header for the response that upgrades a request's
// connection, since upgraders ignore that of the ResponseWriter. From it a node that
// forwarded the request learns that the sender is known; otherwise it is nil.
func UpgradeHeader(r *http.Request) http.Header {
	answer, ok := r.Context().Value(answerKey{}).(http.Header)
	if !ok || answer.Get(KnownHeader) == "" {
		return nil
	}
	return http.Header{KnownHeader: {"true"}}
}
