package provider

import (
	"cmp"
	"slices"
)

// Process places instances on hosts that an agent runs processes on. It packs
// tightly, the fullest host first, so that hosts empty and can go, and takes
// wishes in turns, so that none starves when hosts are scarce.
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
		plan.Remove = append(plan.Remove, surplus(alive, wish.Desired)...)
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

// surplus gives the instances to remove so that desired are left: those that
// carry least first, so that a protected game session is the last to be asked.
func surplus(alive []Instance, desired int) []string {
	if len(alive) <= desired {
		return nil
	}
	crowd := map[string]int{} // instances here, by host
	for _, i := range alive {
		crowd[i.HostID]++
	}
	alive = slices.Clone(alive)
	slices.SortStableFunc(alive, func(a, b Instance) int {
		return cmp.Or(
			yesLast(a.Protected, b.Protected),
			yesLast(a.Sessions > 0, b.Sessions > 0),
			yesLast(a.State != Pending, b.State != Pending),
			cmp.Compare(a.Players, b.Players),
			cmp.Compare(crowd[a.HostID], crowd[b.HostID]), // empties hosts
			cmp.Compare(b.ID, a.ID),                       // the youngest id is as good as any
		)
	})
	var ids []string
	for _, i := range alive[:len(alive)-desired] {
		ids = append(ids, i.ID)
	}
	return ids
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
