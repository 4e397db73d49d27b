package pool

import (
	"slices"

	"github.com/musterhq/muster/flexmatch/search"
)

// A match is formed of a group: the seats are filled, and what other rules refuse is changed by
// exchanges, or by trying sets of the group one after another.

// fill looks for a match of the fixed tickets and some of a group. It returns true if the search
// ends: there is a match, or it has taken too long.
func (a crowdSearch) fill(group []int32) bool {
	c, s := &a.memory.crowd, a.columns.seats[a.level]
	all := group
	group = a.limited(group)
	c.kinds = c.kinds[:0]
	for _, n := range group {
		c.kinds = append(c.kinds, c.list[n].kind)
	}
	least, most := 1, a.mostPlayers()
	for _, it := range c.fixed {
		least, most = least+it.Held, min(most, it.Most)
	}
	a.charge(group)
	players := c.filling.fill(s, c.from, c.kinds, max(least, c.least), most)
	if c.proof {
		c.least = max(c.least, players+1)
		return players == most
	}
	if players == 0 {
		return a.over()
	}
	a.memory.set = append(a.memory.set[:0], c.fixed...)
	for _, i := range c.filling.chosen {
		a.memory.set = append(a.memory.set, c.list[group[i]].it)
	}
	if c.found = a.formFilled(group, all); c.found != nil {
		return true
	}
	if len(c.failed) == 0 {
		c.failed = append(c.failed, all...)
	}
	return a.over()
}

// charge counts the steps of going through the states for a list once.
func (a crowdSearch) charge(list []int32) {
	a.budget.sets -= 1 + len(list)*a.columns.seats[a.level].words()/stepWords
}

// stepWords is how many words of states a ticket's moves change in the time that trying a set takes.
const stepWords = 64

// over reports whether the search ends because it has taken too long.
func (a crowdSearch) over() bool {
	if a.memory.crowd.proof {
		return false
	}
	w := a.worker
	w.deadline.Missed = w.deadline.Over()
	spent := a.budget.sets <= 0 || a.budget.placements <= 0
	a.cut, a.bounded = w.deadline.Missed, a.bounded || spent
	return a.cut || spent
}

// limited returns the part of a group that has no more players than rules about counts allow in a
// match, if states do not count them: first those tickets of whom the fewest count, since more
// players come with them. A proof leaves out none: others might be in a larger match.
func (a crowdSearch) limited(group []int32) []int32 {
	c, s, kinds := &a.memory.crowd, a.columns.seats[a.level], a.columns.kinds
	if !s.loose || c.proof {
		return group
	}
	c.left = append(c.left[:0], s.most...)
	for _, it := range c.fixed {
		for _, n := range s.capped {
			c.left[n] -= a.columns.counted[n].Of(&it.Party)
		}
	}
	of := func(i int32) *kind { return &kinds[c.list[i].kind] }
	counts := func(k *kind) (sum int) {
		for _, n := range s.capped {
			sum += k.counts[n]
		}
		return sum
	}
	c.few = append(c.few[:0], group...)
	slices.SortStableFunc(c.few, func(x, y int32) int { return counts(of(x))*of(y).size - counts(of(y))*of(x).size })
	c.few = slices.DeleteFunc(c.few, func(i int32) bool {
		if slices.ContainsFunc(s.capped, func(n int) bool { return of(i).counts[n] > c.left[n] }) {
			return true
		}
		for _, n := range s.capped {
			c.left[n] -= of(i).counts[n]
		}
		return false
	})
	slices.Sort(c.few) // the order of preference again
	return c.few
}

// mostPlayers returns the most players of a match at the level.
func (a crowdSearch) mostPlayers() int {
	return a.columns.seats[a.level].level.Capacity() - a.worker.pool.rules.Options.AdditionalPlayerCount
}

// formFilled returns the match of the set with which the teams have been filled, or nil if other
// rules refuse it. The set is of a group, which is all of another or a part of it.
func (a crowdSearch) formFilled(group, all []int32) *search.Match {
	c, cols, w := &a.memory.crowd, a.columns, a.worker
	items := a.memory.set
	teams := append(c.teams[c.filling.first], c.filling.teams...)
	if cols.seats[a.level].together {
		if teams = a.place(items, teams); teams == nil {
			if items, teams = a.fillEach(all); items == nil {
				return nil
			}
			a.memory.set, group = items, all
		}
	}
	cause := a.excludes(items, a.level)
	if w.seen[cause]++; cause != causeNone {
		return nil
	}
	set, flat := a.members(items), cols.flat
	if cols.crowded {
		flat = w.pool.rules.Flat
	}
	a.budget.placements--
	holds := func() bool { return len(flat) == 0 || w.judge.Keeps(set, flat, a.level, a.level) }
	if !holds() {
		return nil
	}
	if w.pool.rules.Apart(a.level, cols.inTeam) {
		for _, i := range w.pool.rules.Teams {
			w.judge.Tally.Note(i, true)
		}
	} else if set, teams = a.even(teams, group); set == nil {
		return a.seatSet()
	} else if !holds() {
		return nil
	}
	m := w.judge.Form(set, teams, a.level)
	if m == nil {
		w.rejected++
		return nil
	}
	a.memory.matched = append(a.memory.matched[:0], items...)
	return m
}

// even returns the set and its teams after exchanges that make the rules about teams hold: of teams,
// and of tickets for others of the group that are the same to the seats. It returns nil if it
// finds none.
func (a crowdSearch) even(teams []int, group []int32) (set []*search.Candidate, seated []int) {
	c, seating, items := &a.memory.crowd, a.worker.seating, a.memory.set
	set = a.members(items)
	if !seating.Begin(set, a.level, a.worker.pool.limits.Placements) {
		return nil, nil
	}
	spares := search.Spares{
		Alike: func(ticket, spare int) bool {
			return ticket >= len(c.fixed) && items[ticket].kind == c.spares[spare].kind
		},
		May: func(ticket, team int) bool {
			it := items[ticket]
			return it.seated == nil || it.seated[a.level]>>team&1 == 1
		},
	}
	c.spares = c.spares[:0]
	for n, i := range group {
		if !slices.Contains(c.filling.chosen, n) {
			c.spares = append(c.spares, c.list[i].it)
			spares.Candidates = append(spares.Candidates, &c.list[i].it.Candidate)
		}
	}
	found := seating.Even(teams, &spares)
	a.budget.placements -= seating.Judged
	if !found {
		return nil, nil
	}
	for i, spare := range spares.Taken {
		if spare >= 0 {
			items[i] = c.spares[spare]
		}
	}
	return set, seating.Best
}

// trySets tries the sets of a group one after another, once for an anchor: the more of them, the
// more often that lately found a match in the partition.
func (a crowdSearch) trySets(group []int32) {
	c, p, s, limits := &a.memory.crowd, a.partition, a.shared(0), &a.worker.pool.limits
	if c.tried || len(c.fixed) > 1 {
		return
	}
	c.tried = true
	list := a.list(0)
	for _, n := range group {
		list = append(list, c.list[n])
	}
	a.memory.candidates[0], a.memory.set = list, append(a.memory.set[:0], a.anchor)
	s.level, s.mask = a.level, c.mask
	share := p.sets.share()
	a.limitedTo(max(50, int(share*float64(limits.Nodes))), max(20, int(share*float64(limits.Placements))), func() { c.found = a.best(0) })
	p.sets.note(c.found != nil)
}

// limitedTo calls f, which may take so many steps and no others. If it takes more, the search goes on.
func (a crowdSearch) limitedTo(sets, placements int, f func()) {
	left := a.budget
	a.budget = newBudget(sets, placements)
	f()
	left.sets -= sets - a.budget.sets
	left.placements -= placements - a.budget.placements
	a.bounded = a.bounded || a.cut
	a.budget, a.cut = left, a.worker.deadline.Missed
}

// seatSet distributes the set over the teams by trying placements, the more of them, the more often
// that lately found one in the partition.
func (a crowdSearch) seatSet() (m *search.Match) {
	p, limits := a.partition, &a.worker.pool.limits
	a.limitedTo(limits.Nodes, max(10, int(p.seatings.share()*float64(limits.Placements))), func() { m = a.seat() })
	p.seatings.note(m != nil)
	return m
}
