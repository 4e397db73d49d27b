package door

import (
	"container/list"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// allStrangers is how many times as many strangers all networks may have together
// as one.
const allStrangers = 16

// conns counts connections.
type conns struct {
	most, strangers int
	proxies         Proxies
	patience        time.Duration
	closed          atomic.Int64 // to make room
	slow            atomic.Int64 // that did not take what they were sent

	mu   sync.Mutex
	open int
	all  *list.List                  // of *conn: strangers, the oldest first
	of   map[netip.Prefix]*list.List // the same, by network
}

func newConns(o Options) *conns {
	return &conns{most: o.Connections, strangers: o.Strangers, proxies: o.Proxies, patience: o.WritePatience, all: list.New(), of: map[netip.Prefix]*list.List{}}
}

// listener counts the connections that it accepts.
type listener struct {
	net.Listener
	conns *conns
}

// Accept returns the next connection that there is room for.
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

// conn is a connection that counts.
type conn struct {
	net.Conn
	conns   *conns
	network netip.Prefix
	pace    pace
	gone    bool          // guarded by conns.mu, as what follows
	inAll   *list.Element // nil once it is known
	inOf    *list.Element
}

// enter counts a connection in. Where there are too many, the oldest stranger is
// closed; without one there is no room.
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

// victim returns the stranger that has to go before another may come from a
// network, or nil. The caller holds s.mu.
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

// addStranger puts a connection among the strangers. The caller holds s.mu.
func (s *conns) addStranger(c *conn) {
	of := s.of[c.network]
	if of == nil {
		of = list.New()
		s.of[c.network] = of
	}
	c.inAll, c.inOf = s.all.PushBack(c), of.PushBack(c)
}

// dropStranger takes a connection from among the strangers. The caller holds s.mu.
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

// leave counts a connection out. The caller holds s.mu.
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

// Close closes the connection and counts it out.
func (c *conn) Close() error {
	c.conns.mu.Lock()
	c.conns.leave(c)
	c.conns.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite lets the peer read the answer to a request that was not read to its
// end.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

type (
	connKey   struct{} // of a request's *conn
	answerKey struct{} // of the header of the answer to a node that forwards
)

// connOf returns the counted connection inside another, or nil.
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

// KnownHeader tells the node that forwarded a request that its sender is known.
const KnownHeader = "Muster-Known"

// Known says that the sender of a request is known: its connection is no stranger
// any more.
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

// UpgradeHeader returns what the answer that upgrades a request's connection has to
// carry, since upgraders do not look at the header of the ResponseWriter: whether the
// sender is known, for the node that forwarded it. nil is nothing.
func UpgradeHeader(r *http.Request) http.Header {
	answer, ok := r.Context().Value(answerKey{}).(http.Header)
	if !ok || answer.Get(KnownHeader) == "" {
		return nil
	}
	return http.Header{KnownHeader: {"true"}}
}
