package pool

import (
	"math"
	"slices"

	"github.com/musterhq/muster/flexmatch/search"
)

// gather finds tickets that could join the anchor, in order of preference, until there
// are most of them or they have enough players. Those that an earlier call found come first.
func (a *attempt) gather(most, players int) {
	m, admission := a.memory, a.admit(most)
	m.near = m.near[:0]
	for i := range m.walked {
		if e := &m.walked[i]; len(m.near) < most && players > 0 && admission.admits(e, len(m.near)) {
			m.near = append(m.near, *e)
			players -= int(e.size)
		}
	}
	for len(m.near) < most && players > 0 && a.looks < 16*most {
		e := m.walk.next()
		if e == nil {
			break
		}
		a.looks++
		if !a.joins(e) {
			continue
		}
		m.walked = append(m.walked, *e)
		if admission.admits(e, len(m.near)) {
			m.near = append(m.near, *e)
			players -= int(e.size)
		}
	}
	a.countExcluded()
	out := append(a.list(0), m.near...)
	a.partial = !a.exact && (len(m.near) >= most || players <= 0 || a.looks >= 16*most || len(m.near) < len(m.walked))
	out = a.gatherSessions(most, out)
	if a.columns.sorts {
		search.SortByRules(a.columns.rs, &a.anchor.Candidate, out, func(e entry) *search.Candidate { return &e.it.Candidate }, a.worker.judge.Now)
	}
	m.candidates[0] = out
}

// hopeless reports whether the anchor could be in no match, since each needs a changed ticket.
func (a *attempt) hopeless(t *task) bool {
	return !a.shared(0).changed && !slices.ContainsFunc(t.changed, func(it *item) bool {
		e := it.entry()
		return !it.gone && a.joins(&e)
	})
}

// joins reports whether a match could include both the anchor and another ticket.
func (a *attempt) joins(e *entry) bool {
	return e.it != a.anchor && !(a.exact && e.it.failed) && a.accepts(a.shared(0), e) && a.anchor.Joins(&e.it.Candidate) && a.possible(a.anchor, e.it)
}

// gatherSessions appends game sessions that the anchor could join.
func (a *attempt) gatherSessions(most int, out []entry) []entry {
	backfills := a.partition.backfills
	if a.sessions = a.backfill && !a.anchor.Ticket.Backfill && len(backfills) > 0; !a.sessions {
		return out
	}
	a.partial = a.partial || !a.exact && len(backfills) > most
	for _, it := range backfills[:min(len(backfills), most)] {
		if e := it.entry(); a.joins(&e) {
			out = append(out, e)
		}
	}
	sortEntries(a.columns.rs, out)
	return out
}

// around returns the bounds within which the index holds the anchor's neighbors.
func (a *attempt) around() bounds {
	it, out := a.anchor, bounds{low: math.Inf(-1), high: math.Inf(1), mask: a.anchor.mask}
	low, high := 0.0, 0.0
	switch {
	case len(a.columns.windows) > 0:
		low, high = it.low[0], it.high[0]
	case len(it.spans) > 0 && !a.exact:
		low, high = it.spans[0], it.spans[0]
	default:
		return out
	}
	if reach := a.columns.reach; !math.IsInf(reach, 1) {
		reach += 1e-9 * (reach + math.Abs(low) + math.Abs(high)) // tolerates rounding
		out.low, out.high = high-reach, low+reach
	}
	return out
}

// countExcluded counts the tickets that the index excluded for the anchor: in an
// exhaustive pass each ticket of the pool separately.
func (a *attempt) countExcluded() {
	seen, within := a.worker.seen, &a.memory.walk.bounds
	if !a.exact {
		seen[causeLatency] += within.elsewhere
		seen[causeWindow] += within.outside
		within.elsewhere, within.outside = 0, 0
		return
	}
	for _, it := range a.worker.pool.items {
		switch {
		case it == a.anchor || it.gone || it.Ticket.Backfill:
		case it.partition != a.partition:
			seen[causePartition]++
		case it.mask&within.mask == 0:
			seen[causeLatency]++
		case it.value() < within.low || it.value() > within.high:
			seen[causeWindow]++
		}
	}
}
