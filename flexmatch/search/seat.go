package search

import "math"

// place seats the set if the columns allow it at its level.
func (h *hunt) place() *Match {
	level := h.set[0].level
	for _, it := range h.set[1:] {
		if h.rs.Algorithm.OldestAge {
			level = max(level, it.level)
		} else {
			level = min(level, it.level)
		}
	}
	if !h.allowed(level) {
		return nil
	}
	h.sizes = h.sizes[:0]
	for _, it := range h.set {
		h.sizes = append(h.sizes, it.entry)
	}
	m := h.seat(h.sizes, level)
	if m != nil {
		h.taken = append(h.taken[:0], h.set...)
	}
	return m
}

// allowed reports whether the columns allow the set at a level, and counts the cause if
// not.
func (h *hunt) allowed(level int) bool {
	cause := h.barred(level)
	h.seen[cause]++
	return cause == causeNone
}

func (h *hunt) barred(level int) int {
	mask := uint64(math.MaxUint64)
	for _, it := range h.set {
		mask &= it.exactly(level)
	}
	if mask == 0 {
		return causeLatency
	}
	for _, it := range h.set {
		if len(h.columns.perTicket) > 0 && it.levels>>level&1 == 0 {
			return causePerTicket
		}
	}
	for i, w := range h.columns.windows {
		low, high := math.Inf(1), math.Inf(-1)
		for _, it := range h.set {
			low, high = min(low, it.low[i]), max(high, it.high[i])
		}
		if high-low > w.limit[level] {
			return causeWindow + i
		}
	}
	return causeNone
}

// seat distributes a set over the teams within the limits of the search.
func (h *hunt) seat(set []*entry, level int) *Match {
	limit := max(1, min(maxPlacements, h.leaves))
	if !h.exact {
		limit = min(limit, h.limits.Placements)
	}
	p := &h.placing
	p.searcher = &h.searcher
	p.reset(set, level, limit)
	if !p.begin() {
		return nil
	}
	rules := h.columns.flat
	if h.columns.crowded {
		rules = h.plan.flat
	}
	if len(rules) > 0 && !h.keeps(p.level, h.seats.together(h.rs, set), rules) {
		return nil
	}
	p.aim(level)
	p.next(0)
	h.leaves -= p.judged
	if h.nodes -= p.passed; !p.found {
		h.cut = h.cut || h.late || h.leaves <= 0 || p.passed >= judgement*p.limit
		return nil
	}
	m := newMatch(set, p.best, level)
	if h.verify(m) != nil {
		h.rejected++
		return nil
	}
	return m
}
