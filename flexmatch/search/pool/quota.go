package pool

import "math"

// beyond returns the cause of the first quota that a set and one more ticket exceed, or
// causeNone.
func (a *attempt) beyond(s *shared, it *item) int {
	for i := range s.has {
		if s.has[i]+it.has[i] > a.columns.rules.Quotas[i].Most {
			return a.columns.causeQuota() + i
		}
	}
	return causeNone
}

// lacks reports whether a match could not do without players for quotas: those of a game
// session, if one can still join, are not known.
func (a *attempt) lacks(s *shared) bool { return len(s.has) > 0 && (s.filled || !a.sessions) }

// missing returns how many more new players the quotas need at least once a ticket has joined
// a set.
func (a *attempt) missing(s *shared, e *entry) int {
	if !a.lacks(s) {
		return 0
	}
	has := a.memory.has[:0]
	for i := range s.has {
		has = append(has, s.has[i]+e.it.has[i])
	}
	a.memory.has = has
	return a.columns.rules.Missing(has)
}

// short reports whether the quotas need more than so many new players, or players whom the
// tickets do not have.
func (a *attempt) short(s *shared, tickets []entry, players int) bool {
	if !a.lacks(s) {
		return false
	}
	if most := a.columns.rules.Missing(s.has); most == 0 || most > players {
		return most > players
	}
	for i := range s.has {
		missing := a.columns.rules.Quotas[i].Needs - s.has[i]
		for n := 0; n < len(tickets) && missing > 0; n++ {
			missing -= tickets[n].it.has[i]
		}
		if missing > 0 {
			return true
		}
	}
	return false
}

// noRoom reports whether the tickets cannot bring so many new players, because the quotas
// leave no room for more who have their strings.
func (a *attempt) noRoom(s *shared, tickets []entry, players int) bool {
	if !a.lacks(s) {
		return false
	}
	quotas := a.columns.rules.Quotas
	for first := 0; first < len(quotas); {
		attribute, single := quotas[first].Single()
		end := first + 1
		for end < len(quotas) && a.columns.sameAttribute(attribute, end) {
			end++
		}
		if single && a.reach(s, tickets, first, end) < players {
			return true
		}
		first = end
	}
	return false
}

func (c *columns) sameAttribute(attribute, quota int) bool {
	of, _ := c.rules.Quotas[quota].Single()
	return of == attribute
}

// reach returns how many of the tickets' players can join a set at most, by the quotas from
// first to end, for which each player counts once.
func (a *attempt) reach(s *shared, tickets []entry, first, end int) (n int) {
	available := append(a.memory.has[:0], make([]int, end-first)...)
	a.memory.has = available
	for i := range tickets {
		if tickets[i].held > 0 {
			continue // the set has a game session
		}
		n += int(tickets[i].size)
		for q := first; q < end; q++ {
			available[q-first] += tickets[i].it.has[q]
		}
	}
	for q := first; q < end; q++ {
		if room := a.columns.rules.Quotas[q].Most - s.has[q]; available[q-first] > room {
			n -= available[q-first] - room
		}
	}
	return n
}

// admission chooses, among tickets that could join an anchor, those to try: so that many of one
// string, who may be older, leave places for others that a match needs.
type admission struct {
	of    *attempt
	most  int   // tickets
	got   []int // by quota: players who count, the anchor's included
	limit []int // by quota: after so many, tickets with more are left out
}

// admit returns an admission of at most that many tickets.
func (a *attempt) admit(most int) *admission {
	m := &a.memory.admission
	*m = admission{of: a, most: most, got: append(m.got[:0], a.anchor.has...), limit: m.limit[:0]}
	for i := range m.got {
		limit := math.MaxInt
		if q := &a.columns.rules.Quotas[i]; q.Most < math.MaxInt && !a.exact {
			limit = max(q.Most, most*q.Most/max(1, a.columns.rules.Most))
		}
		m.limit = append(m.limit, limit)
	}
	return m
}

// admits reports whether a ticket is among those to try when some have been admitted, and
// counts it if so.
func (m *admission) admits(e *entry, admitted int) bool {
	if m.of.exact {
		return true
	}
	reserved, brings := 0, false
	for i, has := range e.it.has {
		if has > 0 && m.got[i] >= m.limit[i] {
			return false
		}
		// Twice as many as needed leave the other rules a choice.
		lacks := max(0, 2*m.of.columns.rules.Quotas[i].Needs-m.got[i])
		reserved += lacks
		brings = brings || has > 0 && lacks > 0
	}
	if !brings && admitted >= m.most-min(reserved, m.most/2) {
		return false
	}
	for i, has := range e.it.has {
		m.got[i] += has
	}
	return true
}
