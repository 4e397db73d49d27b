package search

import (
	"math"
	"slices"
)

// work searches around the seeds of a share until its steps or the time are used up.
func (h *hunt) work(sh *share, backfill bool) {
	h.part, h.backfill, h.now, h.exact, h.deadline = sh.part, backfill, h.pool.now, h.pool.exact, h.pool.deadline
	if h.bulk(sh) {
		h.pack(sh)
	}
	late, before := false, h.searches
	for i, seed := range sh.seeds {
		if seed.gone {
			continue
		}
		if late = late || !h.deadline.IsZero() && !h.limits.Clock().Before(h.deadline); late || sh.left <= 0 {
			sh.skipped = slices.DeleteFunc(sh.seeds[i:], func(it *item) bool { return it.gone })
			break
		}
		m := h.search(seed, &sh.left)
		switch {
		case m != nil:
			sh.formed = append(sh.formed, formed{seed.rank, m})
			for _, it := range h.taken {
				h.part.remove(it)
			}
		case h.late && h.searches > before+1: // cut only because the pass ran out of time
			sh.cut = append(sh.cut, seed)
		case h.cut && seed.cuts < maxCuts:
			seed.cuts++
			sh.cut = append(sh.cut, seed)
		}
	}
	sh.left = max(sh.left, 0)
}

// search searches for a match around a seed and subtracts its steps from left.
func (h *hunt) search(seed *item, left *int) *Match {
	h.searches++
	*left--
	clear(h.tally)
	h.near, h.looks = h.near[:0], 0
	h.walk.begin(h.part, h.span(seed), h.width)
	m := h.quick(seed, left)
	if m == nil {
		m = h.thorough(seed, left)
	}
	h.seen.into(h.tally, h.columns)
	if m != nil {
		m.Evaluations = h.tally.evaluations(h.pool.evaluated)
		return m
	}
	if seed.tally = seed.tally.plus(h.tally); h.cut {
		h.cuts++
	}
	return nil
}

// quick searches for a match of the greatest size among the first few candidates only. If
// many wait, there usually is one.
func (h *hunt) quick(seed *item, left *int) *Match {
	players := 2*h.columns.most + 4
	if h.exact || h.columns.sorts || seed.cuts > 0 || players >= h.limits.Candidates || h.part.live <= h.limits.Candidates {
		return nil
	}
	h.bound(seed, h.limits.Nodes/4, h.limits.Placements)
	if h.gather(seed, players, players); !h.short {
		return nil // there are no more candidates: thorough tries them all
	}
	m := h.best(seed, h.room(seed))
	h.spend(left)
	return m
}

// thorough searches for the best match within the limits.
func (h *hunt) thorough(seed *item, left *int) *Match {
	most := h.limits.Candidates << seed.cuts
	if h.exact {
		most = len(h.pool.items)
		h.bound(seed, *left, *left/judgement)
	} else {
		h.bound(seed, h.limits.Nodes<<seed.cuts, 4*h.limits.Placements<<seed.cuts)
	}
	h.gather(seed, most, math.MaxInt)
	m := h.best(seed, 0)
	h.spend(left)
	h.cut = h.cut || m == nil && h.short
	return m
}

// bound starts a search limited to nodes sets and leaves placements.
func (h *hunt) bound(seed *item, nodes, leaves int) {
	h.cut, h.late = false, false
	h.nodes, h.leaves = nodes, leaves
	h.granted = nodes + judgement*leaves
	h.start(seed)
}

// spend subtracts the steps that the search has used.
func (h *hunt) spend(left *int) { *left -= h.granted - h.nodes - judgement*h.leaves }
