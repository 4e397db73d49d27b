package sniff

import (
	"cmp"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// Defaults of a Listener.
const (
	DefaultTimeout = 10 * time.Second
	DefaultPeeking = 4096
)

// handshake is the first byte of a TLS connection (RFC 8446, 5.1).
const handshake = 0x16

// Options configures a Listener. Zero numbers mean the defaults.
type Options struct {
	Config  *tls.Config   // of TLS connections; required
	Timeout time.Duration // for a connection's first byte
	Peeking int           // concurrent connections without a first byte; more are closed
}

// Listener accepts TLS connections as *tls.Conn, before their handshake, and plain
// ones as they are.
type Listener struct {
	inner   net.Listener
	opts    Options
	ready   chan net.Conn
	slots   chan struct{}
	done    chan struct{}
	once    sync.Once
	failed  error // of the inner listener; read after done
	closing error
}

// Listen wraps a listener, which it owns from then on.
func Listen(inner net.Listener, opts Options) *Listener {
	opts.Timeout = cmp.Or(opts.Timeout, DefaultTimeout)
	opts.Peeking = cmp.Or(opts.Peeking, DefaultPeeking)
	l := &Listener{
		inner: inner, opts: opts,
		ready: make(chan net.Conn), slots: make(chan struct{}, opts.Peeking), done: make(chan struct{}),
	}
	go l.run()
	return l
}

// Accept waits for the next connection whose first byte has arrived.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.ready:
		return c, nil
	case <-l.done:
		return nil, l.failed
	}
}

// Addr returns the inner listener's address.
func (l *Listener) Addr() net.Addr { return l.inner.Addr() }

// Close closes the inner listener. Connections that were accepted stay open.
func (l *Listener) Close() error {
	l.end(net.ErrClosed)
	return l.closing
}

func (l *Listener) end(why error) {
	l.once.Do(func() {
		l.failed, l.closing = why, l.inner.Close()
		close(l.done)
	})
}

// run accepts connections. Temporary errors, such as too many open files, are
// retried.
func (l *Listener) run() {
	for {
		c, err := l.inner.Accept()
		if passing, ok := err.(interface{ Temporary() bool }); ok && passing.Temporary() {
			if !l.wait(50 * time.Millisecond) {
				return
			}
			continue
		}
		if err != nil {
			l.end(err)
			return
		}
		select {
		case l.slots <- struct{}{}:
			go l.peek(c)
		default:
			c.Close()
		}
	}
}

func (l *Listener) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.done:
		return false
	}
}

// peek reads the first byte and passes the connection on.
func (l *Listener) peek(c net.Conn) {
	defer func() { <-l.slots }()
	var first [1]byte
	c.SetReadDeadline(time.Now().Add(l.opts.Timeout))
	if n, _ := c.Read(first[:]); n == 0 {
		c.Close()
		return
	}
	c.SetReadDeadline(time.Time{})
	var told net.Conn = &peeked{Conn: c, first: first[0], held: true}
	if first[0] == handshake {
		told = tls.Server(told, l.opts.Config)
	}
	select {
	case l.ready <- told:
	case <-l.done:
		c.Close()
	}
}

// peeked is a connection whose first byte was read and is returned again.
type peeked struct {
	net.Conn
	first byte
	held  bool
}

// NetConn returns the underlying connection.
func (p *peeked) NetConn() net.Conn { return p.Conn }

// CloseWrite closes the writing half, if the connection supports that.
func (p *peeked) CloseWrite() error {
	if half, ok := p.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Read returns the first byte alone, and then what follows.
func (p *peeked) Read(b []byte) (int, error) {
	if !p.held || len(b) == 0 {
		return p.Conn.Read(b)
	}
	b[0], p.held = p.first, false
	return 1, nil
}
