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

// quick looks for a match of the greatest size among the first few candidates
// only: where many wait there mostly is one.
func (h *hunt) quick(seed *item, left *int) *Match {
	players := 2*h.columns.most + 4
	if h.exact || h.columns.sorts || seed.cuts > 0 || players >= h.limits.Candidates || h.part.live <= h.limits.Candidates {
		return nil
	}
	h.bound(seed, h.limits.Nodes/4, h.limits.Placements)
	if h.gather(seed, players, players); !h.short {
		return nil // there are no more: all are tried below
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
	h.gather(seed, most, math.MaxInt)
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

// gather finds tickets that could join a seed, in order of preference, until there
// are so many of so many players. What an earlier call for the seed found is kept.
func (h *hunt) gather(seed *item, most, players int) {
	for _, it := range h.near {
		players -= it.size
	}
	for len(h.near) < most && players > 0 && h.looks < 16*most {
		it := h.walk.next()
		if it == nil {
			break
		}
		h.looks++
		if h.joins(seed, it) {
			h.near = append(h.near, it)
			players -= it.size
		}
	}
	h.countPassed(seed)
	out := append(h.list(0), h.near...)
	h.short = !h.exact && (len(h.near) >= most || players <= 0 || h.looks >= 16*most)
	out = h.gatherFills(seed, most, out)
	h.sortBy(seed, out)
	h.lists[0] = out
}

// joins tells whether a match could hold a seed and an item.
func (h *hunt) joins(seed, it *item) bool {
	var st hold
	return it != seed && h.join(&h.stack[0], it, &st) && h.possible(seed, it)
}

// gatherFills adds game sessions that a seed could join.
func (h *hunt) gatherFills(seed *item, most int, out []*item) []*item {
	fills := h.part.backfills
	if h.filling = h.backfill && !seed.ticket.Backfill && len(fills) > 0; !h.filling {
		return out
	}
	h.short = h.short || !h.exact && len(fills) > most
	for _, it := range fills[:min(len(fills), most)] {
		if h.joins(seed, it) {
			out = append(out, it)
		}
	}
	h.sort(out)
	return out
}

// countPassed counts what the index kept from a seed without looking at it.
func (h *hunt) countPassed(seed *item) {
	if h.exact {
		h.countApart(seed, &h.walk.span)
		return
	}
	h.seen[causeLatency] += h.walk.deaf
	h.seen[causeWindow] += h.walk.far
	h.walk.deaf, h.walk.far = 0, 0
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
