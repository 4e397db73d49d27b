// Package ports assigns game server processes ports of a range that are not in use,
// neither by another process that it assigned one nor by another program on the machine.
package ports

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Quarantine is how long a port is not reused after its process has ended: datagrams to
// the old process may still arrive.
const Quarantine = 30 * time.Second

// ErrNone says that every port of the range is taken or in quarantine.
var ErrNone = errors.New("no port is free")

// Range assigns the ports From to To, in turn. Use New to create one.
type Range struct {
	bind func(port int) error // reports why a port cannot be bound

	mu       sync.Mutex
	from, to int
	next     int
	taken    map[int]bool
	resting  map[int]time.Time // until the given time
}

// New returns a Range of the ports from to to, both included.
func New(from, to int) (*Range, error) {
	r := &Range{bind: bind, taken: map[int]bool{}, resting: map[int]time.Time{}}
	if err := r.Move(from, to); err != nil {
		return nil, err
	}
	return r, nil
}

// Move changes the range from now on. Ports that processes have remain theirs.
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

// Bounds returns the first and the last port of the range.
func (r *Range) Bounds() (from, to int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.from, r.to
}

// Take returns a port that can be bound now, for UDP and for TCP. Its error wraps ErrNone
// and says how many ports cannot be bound, and why not the last of them.
func (r *Range) Take(now time.Time) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	refused, why := 0, error(nil)
	for range r.to - r.from + 1 {
		port := r.next
		if r.next++; r.next > r.to {
			r.next = r.from
		}
		if r.taken[port] || now.Before(r.resting[port]) {
			continue
		}
		if err := r.bind(port); err != nil {
			refused, why = refused+1, err
			continue
		}
		delete(r.resting, port)
		r.taken[port] = true
		return port, nil
	}
	err := fmt.Errorf("ports %d to %d: %w (%d ours, %d resting, %d refused by the system)",
		r.from, r.to, ErrNone, len(r.taken), r.restingAt(now), refused)
	if why != nil {
		err = fmt.Errorf("%w; the last: %w", err, why)
	}
	return 0, err
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

// Keep marks a port as taken by a process that is running already.
func (r *Range) Keep(port int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken[port] = true
}

// Release returns a port to the range, after its quarantine.
func (r *Range) Release(port int, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken[port] {
		delete(r.taken, port)
		r.resting[port] = now.Add(Quarantine)
	}
}

// bind binds a port on all addresses, as a game would, and releases it.
func bind(port int) error {
	at := netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(port))
	udp, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(at))
	if err != nil {
		return err
	}
	defer udp.Close()
	tcp, err := net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(at))
	if err != nil {
		return err
	}
	return tcp.Close()
}
