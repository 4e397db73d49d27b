package instance

import (
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

// takenFor is for how long ports that another program held are not used.
const takenFor = 10 * time.Minute

// TakenPort is a port of a host that another program held.
type TakenPort struct {
	Port  int       `json:"port"`
	Until time.Time `json:"until"` // instances may have it again from then on
}

// free drops the ports that may be used again.
func (h *Host) free(now time.Time) {
	h.Taken = slices.DeleteFunc(slices.Clone(h.Taken), func(t TakenPort) bool { return wake.Passed(t.Until, now) })
}

// movePorts assigns a group of i other ports of its host, if it does not run because another
// program holds some of those that it has. It keeps them until the instance ends.
func (rs *reports) movePorts(tx *store.Tx, i *Instance, g *Group, taken []int) {
	var held []int
	all := i.Ports(g)
	for _, p := range all {
		if slices.Contains(taken, p.Outside) && !slices.Contains(held, p.Outside) {
			held = append(held, p.Outside)
		}
	}
	old := rs.hosts.rows.Get(tx, i.HostID)
	if len(held) == 0 || old == nil {
		return // it has others already
	}
	h, news := *old, false
	h.free(tx.Now())
	for _, port := range held {
		at := slices.IndexFunc(h.Taken, func(t TakenPort) bool { return t.Port == port })
		if news = news || at < 0; at >= 0 {
			h.Taken = slices.Delete(h.Taken, at, at+1)
		}
		h.Taken = append(h.Taken, TakenPort{port, tx.Now().Add(takenFor)})
	}
	rs.hosts.put(tx, &h)
	room := &room{Host: &h}
	for other := range rs.instances.onHost.Equal(tx, h.ID) {
		room.usePorts(other)
	}
	text := fmt.Sprintf("Another program on host %s (%s) holds port %s, so that container group %s of instance %s cannot start", h.ID, h.Name, numbers(held), g.Name, i.ID)
	switch gap := room.gap(demand{portCount: len(all), containers: true}); {
	case gap.from > 0:
		g.First = gap.from
		text += fmt.Sprintf("; it gets ports %d to %d instead. New instances do without port %s for %d minutes", gap.from, gap.to, numbers(held), int(takenFor.Minutes()))
		rs.instances.assign(tx, h.ID)
	case !news:
		return // it was said
	default:
		text += fmt.Sprintf(", and of the ports %d to %d of that host no %d in a row are free. End the program, or start the agent with more ports (--ports)", h.PortFrom, h.PortTo, len(all))
	}
	rs.instances.recordGroup(tx, event.GenericEvent, i, g, text)
}

// usePorts takes the ports that cannot be used on the host for others because an instance has
// them.
func (r *room) usePorts(i *Instance) {
	if i.PortFrom == 0 {
		return // only its row is left
	}
	r.take(0, 0, ports{i.PortFrom, i.PortTo})
	for n := range i.Groups {
		if g := &i.Groups[n]; g.First > 0 {
			r.take(0, 0, ports{g.First, g.First + len(i.Ports(g)) - 1})
		}
	}
}

// without returns the ports that a new instance cannot have, in ascending order. Those that
// other programs hold matter for container groups only: an agent assigns a process of a build
// another port of its instance.
func (r *room) without(d demand) []ports {
	if !d.containers || len(r.Taken) == 0 {
		return r.taken
	}
	all := slices.Clone(r.taken)
	for _, t := range r.Taken {
		all = insert(all, ports{t.Port, t.Port})
	}
	return all
}

// numbers lists ports for people.
func numbers(ports []int) string {
	text := ""
	for n, p := range ports {
		switch {
		case n > 0 && n == len(ports)-1:
			text += " and "
		case n > 0:
			text += ", "
		}
		text += fmt.Sprint(p)
	}
	return text
}
