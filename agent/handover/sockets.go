package handover

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Variable is the environment variable with the sockets of a former agent: the process id,
// a colon, and the file descriptors, each after a letter for its kind. An exec keeps the
// process id; a child of the agent that gets the variable by accident has another one.
const Variable = "MUSTER_AGENT_SOCKETS"

// The kinds of sockets.
const (
	listens  = 'l'
	packets  = 'p' // UDP
	connects = 'c' // a connection that a listener has accepted
)

// Sockets are the sockets of one agent. The zero value has none of a former agent.
type Sockets struct {
	mu      sync.Mutex
	tcp     map[netip.AddrPort]former       // of the former agent, by local address
	udp     map[netip.AddrPort]*net.UDPConn // likewise
	open    map[passable]rune               // what this agent listens with
	passing bool                            // sockets are kept for the next agent
	kept    []kept
}

// former is what a former agent had at an address.
type former struct {
	listener net.Listener // nil if it is not known
	conns    []net.Conn
}

// kept is a file descriptor for the next agent.
type kept struct {
	kind rune
	fd   int
}

// Take returns the sockets that a former agent of this process has left. It is to be called
// once, before programs are started.
func Take() *Sockets {
	s := &Sockets{tcp: map[netip.AddrPort]former{}, udp: map[netip.AddrPort]*net.UDPConn{}}
	text := os.Getenv(Variable)
	os.Unsetenv(Variable)
	pid, list, found := strings.Cut(text, ":")
	if !found || pid != strconv.Itoa(os.Getpid()) {
		return s
	}
	for _, one := range strings.Split(list, ",") {
		if one == "" {
			continue
		}
		if fd, err := strconv.Atoi(one[1:]); err == nil {
			s.take(rune(one[0]), fd)
		}
	}
	return s
}

// take adds a socket of a former agent.
func (s *Sockets) take(kind rune, fd int) {
	file := os.NewFile(uintptr(fd), "handed over")
	defer file.Close() // what follows has a copy, which programs do not inherit
	switch kind {
	case listens:
		if l, err := net.FileListener(file); err == nil {
			at := addrOf(l.Addr())
			s.tcp[at] = former{l, s.tcp[at].conns}
		}
	case connects:
		if c, err := net.FileConn(file); err == nil {
			at := addrOf(c.LocalAddr())
			s.tcp[at] = former{s.tcp[at].listener, append(s.tcp[at].conns, c)}
		}
	case packets:
		if c, err := net.FilePacketConn(file); err == nil {
			if udp, ok := c.(*net.UDPConn); ok {
				s.udp[addrOf(c.LocalAddr())] = udp
			}
		}
	}
}

// addrOf returns the address of a socket; zero if it is no IP address.
func addrOf(addr net.Addr) netip.AddrPort {
	at, _ := netip.ParseAddrPort(addr.String())
	return at
}

// Listen returns a listener: the former agent's at an address if there is one, else what open
// returns.
func (s *Sockets) Listen(at netip.AddrPort, open func() (net.Listener, error)) (*Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.tcp[at]
	if f.listener == nil {
		var err error
		if f.listener, err = open(); err != nil {
			return nil, err
		}
	}
	delete(s.tcp, at)
	if err := s.add(f.listener, listens); err != nil {
		return nil, errors.Join(err, f.listener.Close())
	}
	return &Listener{s: s, inner: f.listener, former: f.conns, conns: map[*Conn]bool{}, changed: make(chan struct{})}, nil
}

// ListenUDP is like Listen for UDP.
func (s *Sockets) ListenUDP(at netip.AddrPort) (*net.UDPConn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.udp[at]
	if c == nil {
		var err error
		if c, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(at)); err != nil {
			return nil, err
		}
	}
	delete(s.udp, at)
	if err := s.add(c, packets); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// add notes a socket that is to be passed on. s.mu must be held.
func (s *Sockets) add(socket any, kind rune) error {
	p, ok := socket.(passable)
	switch {
	case !ok:
		return nil
	case s.passing:
		return s.keep(p, kind)
	case s.open == nil:
		s.open = map[passable]rune{}
	}
	s.open[p] = kind
	return nil
}

// Drop closes the sockets of the former agent that nothing has asked for.
func (s *Sockets) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.tcp {
		if f.listener != nil {
			f.listener.Close()
		}
		for _, c := range f.conns {
			c.Close()
		}
	}
	for _, c := range s.udp {
		c.Close()
	}
	s.tcp, s.udp = nil, nil
}

// Pass keeps the sockets that are open for the next agent, whatever is closed here. From now
// on a listener that drains passes its connections on too.
func (s *Sockets) Pass() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.passing {
		return nil
	}
	s.passing = true
	var failed []error
	for p, kind := range s.open {
		failed = append(failed, s.keep(p, kind))
	}
	for _, f := range s.tcp { // nothing has asked for them yet
		if p, ok := f.listener.(passable); ok {
			failed = append(failed, s.keep(p, listens))
		}
		for _, c := range f.conns {
			if p, ok := c.(passable); ok {
				failed = append(failed, s.keep(p, connects))
			}
		}
	}
	for _, c := range s.udp {
		failed = append(failed, s.keep(c, packets))
	}
	return errors.Join(failed...)
}

// keep keeps a copy of a socket for the next agent. s.mu must be held.
func (s *Sockets) keep(p passable, kind rune) error {
	fd, err := duplicate(p)
	if err != nil {
		return fmt.Errorf("hand a socket over: %w", err)
	}
	s.kept = append(s.kept, kept{kind, fd})
	return nil
}

// forget notes that a socket is closed.
func (s *Sockets) forget(socket any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := socket.(passable); ok {
		delete(s.open, p)
	}
}

// Environ lets the program that replaces this one have the kept sockets, and returns its
// environment. No program may be started between this call and the exec.
func (s *Sockets) Environ(environ []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]string, 0, len(s.kept))
	for _, k := range s.kept {
		if inherit(k.fd) == nil {
			list = append(list, string(k.kind)+strconv.Itoa(k.fd))
		}
	}
	if len(list) == 0 {
		return environ
	}
	return append(environ[:len(environ):len(environ)], fmt.Sprintf("%s=%d:%s", Variable, os.Getpid(), strings.Join(list, ",")))
}
