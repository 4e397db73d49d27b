package pool

import (
	"math"

	"github.com/musterhq/muster/flexmatch/search"
)

// seat distributes the set over the teams within the limits of the search, if the columns
// allow it at its level.
func (a *attempt) seat() *search.Match {
	w, items := a.worker, a.memory.set
	level := int(items[0].level)
	for _, it := range items[1:] {
		level = a.columns.older(level, int(it.level))
	}
	cause := a.excludes(items, level)
	if w.seen[cause]++; cause != causeNone {
		return nil
	}
	set, limit := a.members(items), max(1, min(search.MaxPlacements, a.budget.placements))
	if !a.exact {
		limit = min(limit, w.pool.limits.Placements)
	}
	if !w.seating.Begin(set, level, limit) {
		return nil
	}
	rules := a.columns.flat
	if a.columns.crowded {
		rules = w.pool.rules.Flat
	}
	if len(rules) > 0 && !w.judge.Keeps(set, rules, level, level) {
		return nil
	}
	ended := w.seating.Run()
	a.budget.placements -= w.seating.Judged
	if a.budget.sets -= w.seating.Skipped; !w.seating.Found {
		a.unsure = a.unsure || ended
		a.cut = a.cut || w.deadline.Missed || a.budget.placements <= 0 || w.seating.Exhausted()
		return nil
	}
	m := w.judge.Form(set, w.seating.Best, level)
	if m == nil {
		w.rejected++
		return nil
	}
	a.memory.matched = append(a.memory.matched[:0], items...)
	return m
}

// excludes returns why the columns exclude a match of items at a level, or causeNone.
func (a *attempt) excludes(items []*item, level int) int {
	mask := uint64(math.MaxUint64)
	for _, it := range items {
		mask &= it.exactly(level)
	}
	if mask == 0 {
		return causeLatency
	}
	for _, it := range items {
		if len(a.columns.perTicket) > 0 && it.levels>>level&1 == 0 {
			return causePerTicket
		}
	}
	for i := range a.columns.windows {
		low, high := math.Inf(1), math.Inf(-1)
		for _, it := range items {
			low, high = min(low, it.low[i]), max(high, it.high[i])
		}
		if high-low > a.columns.limits[level][i] {
			return causeWindow + i
		}
	}
	return causeNone
}
