// Package ports gives game server processes ports of a range that nobody else
// uses: neither another process that it gave one, nor a stranger on the machine.
package ports

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Quarantine is how long a port rests after its process has ended: datagrams
// to the old process may still be on their way.
const Quarantine = 30 * time.Second

// ErrNone says that every port of the range is taken or resting.
var ErrNone = errors.New("no port is free")

// Range hands out the ports From to To, in turn. Make it with New.
type Range struct {
	bindable func(port int) bool

	mu       sync.Mutex
	from, to int
	next     int
	taken    map[int]bool
	resting  map[int]time.Time // until when
}

// New makes a Range of the ports from to to, both included.
func New(from, to int) (*Range, error) {
	r := &Range{bindable: bindable, taken: map[int]bool{}, resting: map[int]time.Time{}}
	if err := r.Move(from, to); err != nil {
		return nil, err
	}
	return r, nil
}

// Move has the Range hand out other ports from now on. Those that processes have
// stay theirs.
func (r *Range) Move(from, to int) error {
	if from < 1 || to < from || to > 65535 {
		return fmt.Errorf("ports: %d to %d is no range of ports", from, to)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if from != r.from || to != r.to {
		r.from, r.to, r.next = from, to, from
	}
	return nil
}

// Take gives a port that can be bound now, for UDP and for TCP. It fails with
// ErrNone; the text tells how many ports strangers hold.
func (r *Range) Take(now time.Time) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	clashes := 0
	for range r.to - r.from + 1 {
		port := r.next
		if r.next++; r.next > r.to {
			r.next = r.from
		}
		if r.taken[port] || now.Before(r.resting[port]) {
			continue
		}
		if !r.bindable(port) {
			clashes++
			continue
		}
		delete(r.resting, port)
		r.taken[port] = true
		return port, nil
	}
	return 0, fmt.Errorf("ports %d to %d: %w (%d ours, %d resting, %d held by other programs)",
		r.from, r.to, ErrNone, len(r.taken), r.restingAt(now), clashes)
}

func (r *Range) restingAt(now time.Time) int {
	n := 0
	for port, until := range r.resting {
		if !r.taken[port] && now.Before(until) {
			n++
		}
	}
	return n
}

// Keep marks a port as taken by a process that runs already.
func (r *Range) Keep(port int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken[port] = true
}

// Release gives a port back; it rests first.
func (r *Range) Release(port int, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken[port] {
		delete(r.taken, port)
		r.resting[port] = now.Add(Quarantine)
	}
}

// bindable tries a port on all addresses, as a game would.
func bindable(port int) bool {
	at := netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(port))
	udp, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(at))
	if err != nil {
		return false
	}
	defer udp.Close()
	tcp, err := net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(at))
	if err != nil {
		return false
	}
	return tcp.Close() == nil
}
