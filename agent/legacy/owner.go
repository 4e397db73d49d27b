package legacy

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
)

// caller is the other end of a connection. Whose it is is found out once.
type caller struct {
	s             *Server
	local, remote netip.AddrPort

	mu   sync.Mutex
	done bool
	pids []int // of the processes that own the connection; nil on systems that do not say
}

type callerKey struct{}

// remember makes the caller part of the context of its requests.
func (s *Server) remember(ctx context.Context, c net.Conn) context.Context {
	local, _ := c.LocalAddr().(*net.TCPAddr)
	remote, _ := c.RemoteAddr().(*net.TCPAddr)
	return context.WithValue(ctx, callerKey{}, &caller{s: s, local: local.AddrPort(), remote: remote.AddrPort()})
}

var (
	errStranger = errors.New("the program that connects was not started by this agent")
	errHidden   = errors.New("nothing shows who owns the connection: an agent sees the game servers of other users, and those in containers, if it runs as root")
	errBusy     = errors.New("too many programs connect at once")
)

// process returns the process of a caller; claimed is the process id that it claims. It
// waits a little for a process that has just been started.
func (c *caller) process(ctx context.Context, claimed int) (*process, error) {
	select {
	case c.s.looking <- struct{}{}:
		defer func() { <-c.s.looking }()
	default:
		return nil, errBusy
	}
	ctx, cancel := context.WithTimeout(ctx, appearing)
	defer cancel()
	for {
		c.s.mu.Lock()
		all, more := append([]*process(nil), c.s.processes...), c.s.admitted
		c.s.mu.Unlock()
		if p := c.among(all, claimed); p != nil {
			return p, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			if pids, known := c.owners(claimed); known && len(pids) == 0 {
				return nil, errHidden
			}
			return nil, errStranger
		case <-c.s.life.Done():
			return nil, errStranger
		}
	}
}

// among returns the process of a caller if it is among some, or nil.
func (c *caller) among(all []*process, claimed int) *process {
	pids, known := c.owners(claimed)
	if !known {
		return byWord(all, claimed)
	}
	for _, pid := range pids {
		above, container := lineage(pid), c.s.o.Contained(pid)
		for _, p := range all {
			if above[p.a.PID] || container != "" && p.a.PID == 0 && p.a.ProcessID == container {
				return p
			}
		}
	}
	return nil
}

// owners returns the ids of the processes that own the connection. It reports whether the
// system says so at all.
func (c *caller) owners(claimed int) ([]int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.done {
		pids, known := ownersOf(c.remote, c.local, claimed)
		if !known {
			return nil, false
		}
		c.pids, c.done = pids, true
	}
	return c.pids, true
}

// byWord returns the process with the id that a caller claims, or else the first one that
// has not connected yet: the caller may be a child of it. It is for systems that do not say
// who owns a connection.
func byWord(all []*process, claimed int) *process {
	for _, p := range all {
		if p.a.PID == claimed || p.claims(claimed) { // the least claimed id is 1
			return p
		}
	}
	for _, p := range all {
		if !p.known() {
			p.claim(claimed)
			return p
		}
	}
	return nil
}
