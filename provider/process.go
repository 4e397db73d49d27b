package provider

import (
	"cmp"
	"slices"
)

// Process places instances on hosts that an agent runs processes on. It packs
// tightly, the fullest host first, so that hosts become empty and can be removed, and
// serves wishes in turns, so that none starves when hosts are scarce.
type Process struct{}

// Plan implements Provider.
func (Process) Plan(w World) Plan {
	var plan Plan
	p := newPacker(w)
	type need struct {
		wish    Wish
		missing int
	}
	var needs []need
	for _, wish := range w.Wishes {
		alive := p.alive(wish)
		plan.Remove = append(plan.Remove, p.surplus(alive, wish.Desired)...)
		if n := wish.Desired - len(alive); n > 0 {
			needs = append(needs, need{wish, n})
		}
	}
	for made := true; made; {
		made = false
		for i, n := range needs {
			if n.missing == 0 {
				continue
			}
			if m, ok := p.place(n.wish); ok {
				plan.Make = append(plan.Make, m)
				needs[i].missing--
				made = true
			}
		}
	}
	for _, n := range needs {
		if n.missing > 0 {
			plan.Short = append(plan.Short, Short{n.wish, n.missing, p.why(n.wish)})
		}
	}
	return plan
}

// Room implements Provider.
func (Process) Room(w World, wish Wish) int {
	p := newPacker(w)
	for n := 0; ; n++ {
		if _, ok := p.place(wish); !ok {
			return n
		}
	}
}

// surplus returns the instances to remove so that desired are left: those with the
// least load first, so that a protected game session comes last, and of those without
// load the ones on the emptiest host, so that it can be removed.
func (p *packer) surplus(alive []Instance, desired int) []string {
	if len(alive) <= desired {
		return nil
	}
	left := slices.Clone(alive)
	var ids []string
	for len(left) > desired {
		at := 0
		for i := range left {
			if p.goesBefore(left[i], left[at]) < 0 {
				at = i
			}
		}
		ids = append(ids, left[at].ID)
		p.busy[left[at].HostID] -= left[at].CPUMillis
		left = slices.Delete(left, at, at+1)
	}
	return ids
}

// goesBefore orders instances by which is removed first.
func (p *packer) goesBefore(a, b Instance) int {
	return cmp.Or(
		yesLast(a.Protected, b.Protected),
		yesLast(a.Sessions > 0, b.Sessions > 0),
		yesLast(a.State != Pending, b.State != Pending),
		yesLast(p.open[a.HostID], p.open[b.HostID]),
		cmp.Compare(a.Players, b.Players),
		cmp.Compare(p.busy[a.HostID], p.busy[b.HostID]),
		cmp.Compare(b.HostID, a.HostID), // the hosts that are filled last
		cmp.Compare(b.ID, a.ID),
	)
}

func yesLast(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
