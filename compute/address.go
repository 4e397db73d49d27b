package compute

import (
	"cmp"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// Address is where players reach the processes of a compute.
type Address struct {
	IPAddress   string `json:"ip_address,omitzero"`   // the IPv4 address, or the only one
	IPv6Address string `json:"ipv6_address,omitzero"` // set only beside an IPv4 address
	DNSName     string `json:"dns_name,omitzero"`
}

// Shown returns the address as callers receive it. AWS's samples and plugins read both the IP
// address and the DNS name, so if one is missing the other replaces it.
func (a Address) Shown() Address {
	a.IPAddress, a.DNSName = cmp.Or(a.IPAddress, a.DNSName), cmp.Or(a.DNSName, a.IPAddress)
	return a
}

// Text returns the address for people.
func (a Address) Text() string {
	a = a.Shown()
	text := a.IPAddress
	for _, more := range []string{a.IPv6Address, a.DNSName} {
		if more != "" && more != a.IPAddress {
			text += " " + more
		}
	}
	return text
}

// Move is a change of the address of a compute.
type Move struct {
	*Compute                     // as it is now
	Only     func(*Process) bool // the processes that moved with it; nil means all
}

// Moves reports whether the game session of a process is at the new address.
func (m Move) Moves(p *Process) bool { return m.Only == nil || m.Only(p) }

// OnMoved registers f to be called in each transaction that changes the address of a compute.
func (g *registry) OnMoved(f func(*store.Tx, Move)) { g.moved = append(g.moved, f) }

// Relocate changes the address of a compute, and with it that of the game sessions of its
// processes, or of those that only selects.
func (g *registry) Relocate(tx *store.Tx, old *Compute, to Address, only func(*Process) bool) {
	if old.Address == to {
		return
	}
	c := *old
	c.Address = to
	g.relocated(tx, old, Move{&c, only})
}

// relocated writes a compute of which only the address, or what nobody is notified of, has changed.
func (g *registry) relocated(tx *store.Tx, old *Compute, to Move) {
	c := to.Compute
	g.rows.Put(tx, c)
	if c.Address == old.Address {
		return
	}
	if to.Only == nil {
		g.events.Append(tx, event.Event{
			Code: event.ComputeMoved, FleetID: c.FleetID, Location: c.Location, ComputeName: c.Name,
			Message: "players reach it at " + c.Address.Text() + ", no longer at " + old.Address.Text(),
		})
	}
	for _, f := range g.moved {
		f(tx, to)
	}
}
