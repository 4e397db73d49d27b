package engine

import (
	"net/netip"
	"sync"
)

// bridges are those of the networks of the engine's containers.
type bridges struct {
	mu     sync.Mutex
	fixed  map[int]bool // index of the interface
	failed bool
}

// steady makes sure that a container which comes or goes does not change the hardware
// address of the bridge of a group's network, as older versions of Podman let it: players of
// the other groups would be cut off for a while.
func (e *Engine) steady(r *Running) {
	if !e.machine.podman {
		return
	}
	gateway := r.gateway()
	if !gateway.IsValid() {
		return
	}
	b := &e.bridges
	b.mu.Lock()
	defer b.mu.Unlock()
	index, err := fixAddress(gateway, b.fixed)
	switch {
	case err != nil && !b.failed:
		b.failed = true
		e.log.Warn("players may be cut off for seconds whenever a container starts or ends: the hardware address of the containers' bridge changes, and the agent may not fix it; run the agent as root, use netavark 1.9 or later, or run the containers on the host's network", "gateway", gateway, "err", err)
	case index != 0:
		b.fixed[index] = true
	}
}

// gateway returns the address of the machine in the group's network; the zero value if there
// is none.
func (r *Running) gateway() netip.Addr {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.states {
		if s.gateway.IsValid() {
			return s.gateway
		}
	}
	return netip.Addr{}
}
