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
		case h.late && h.searches > before+1: // it only came late in the pass
			sh.cut = append(sh.cut, seed)
		case h.cut && seed.cuts < maxCuts:
			seed.cuts++
			sh.cut = append(sh.cut, seed)
		}
	}
	sh.left = max(sh.left, 0)
}

// search looks for a match around a seed and takes its steps from left.
func (h *hunt) search(seed *item, left *int) *Match {
	h.searches++
	*left--
	clear(h.tally)
	h.whole = false
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

// quick looks for a match of the greatest size among the first few candidates
// only: where many wait there mostly is one.
func (h *hunt) quick(seed *item, left *int) *Match {
	few := 2*h.columns.most + 4
	if h.exact || h.columns.sorts || seed.cuts > 0 || few >= h.limits.Candidates || h.part.live <= h.limits.Candidates {
		return nil
	}
	h.bound(seed, h.limits.Nodes/4, h.limits.Placements)
	if h.gather(seed, few); !h.short {
		h.whole = len(h.part.backfills) <= few
		return nil // there are no more than few: all are tried below
	}
	m := h.best(seed, h.room(seed))
	h.spend(left)
	return m
}

// thorough looks for the best match within the limits.
func (h *hunt) thorough(seed *item, left *int) *Match {
	most := h.limits.Candidates << seed.cuts
	if h.exact {
		most = len(h.pool.items)
		h.bound(seed, *left, *left/judgement)
	} else {
		h.bound(seed, h.limits.Nodes<<seed.cuts, 4*h.limits.Placements<<seed.cuts)
	}
	if !h.whole {
		h.gather(seed, most)
	}
	m := h.best(seed, 0)
	h.spend(left)
	h.cut = h.cut || m == nil && h.short
	return m
}

// bound starts a search with so many sets and placements.
func (h *hunt) bound(seed *item, nodes, leaves int) {
	h.cut, h.late = false, false
	h.nodes, h.leaves = nodes, leaves
	h.granted = nodes + judgement*leaves
	h.start(seed)
}

// spend takes what the search has used.
func (h *hunt) spend(left *int) { *left -= h.granted - h.nodes - judgement*h.leaves }

// gather finds tickets that could join a seed, in order of preference.
func (h *hunt) gather(seed *item, most int) {
	out, st := h.list(0), hold{}
	looks := 16 * most
	take := func(it *item) bool {
		if it != seed && h.join(&h.stack[0], it, &st) && h.possible(seed, it) {
			out = append(out, it)
		}
		looks--
		return len(out) < most && looks > 0
	}
	around := h.span(seed)
	h.cursors = h.part.walk(h.cursors, &around, h.width, take)
	if h.exact {
		h.countApart(seed, &around)
	} else {
		h.seen[causeLatency] += around.deaf
		h.seen[causeWindow] += around.far
	}
	h.filling = false
	if fills := h.part.backfills; h.backfill && !seed.ticket.Backfill && len(fills) > 0 {
		h.filling = true
		for _, it := range fills[:min(len(fills), most)] {
			take(it)
		}
		h.sort(out)
	}
	h.sortBy(seed, out)
	h.lists[0], h.short = out, !h.exact && (looks <= 0 || len(out) >= most)
}

// span is where the index looks for a seed's neighbours.
func (h *hunt) span(seed *item) span {
	around := span{low: math.Inf(-1), high: math.Inf(1), mask: seed.mask}
	if h.width > 0 {
		reach := slices.Max(h.columns.windows[0].limit)
		reach += 1e-9 * (reach + math.Abs(seed.low[0]) + math.Abs(seed.high[0])) // rounding must not hide a neighbour
		around.low, around.high = seed.high[0]-reach, seed.low[0]+reach
	}
	return around
}

// countApart counts what the index kept from a seed without looking at it: of a
// small pool, each ticket on its own.
func (h *hunt) countApart(seed *item, around *span) {
	for _, it := range h.pool.items {
		switch {
		case it == seed || it.gone || it.ticket.Backfill:
		case it.part != h.part:
			h.seen[causePartition]++
		case it.mask&around.mask == 0:
			h.seen[causeLatency]++
		case it.low[0] < around.low || it.high[0] > around.high:
			h.seen[causeWindow]++
		}
	}
}

// sortBy orders candidates for a seed: by priority, then by the sort rules.
func (h *hunt) sortBy(seed *item, candidates []*item) {
	if !h.columns.sorts {
		return
	}
	entries := make([]*entry, len(candidates))
	of := make(map[*entry]*item, len(candidates))
	for i, it := range candidates {
		entries[i], of[it.entry] = it.entry, it
	}
	bySortRules(h.rs, seed.entry, entries, h.now)
	for i, e := range entries {
		candidates[i] = of[e]
	}
}
