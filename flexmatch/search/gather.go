package search

import (
	"math"
	"slices"
)

// gather finds tickets that could join a seed, in order of preference, until there are
// most of them or they have enough players. It keeps those that an earlier call found for
// the seed.
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

// joins reports whether a match could include both a seed and an item.
func (h *hunt) joins(seed, it *item) bool {
	var st hold
	return it != seed && h.join(&h.stack[0], it, &st) && h.possible(seed, it)
}

// gatherFills appends game sessions that a seed could join.
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

// countPassed counts the tickets that the index excluded for a seed.
func (h *hunt) countPassed(seed *item) {
	if h.exact {
		h.countApart(seed, &h.walk.span)
		return
	}
	h.seen[causeLatency] += h.walk.deaf
	h.seen[causeWindow] += h.walk.far
	h.walk.deaf, h.walk.far = 0, 0
}

// span returns the range in which the index searches for a seed's neighbors.
func (h *hunt) span(seed *item) span {
	around := span{low: math.Inf(-1), high: math.Inf(1), mask: seed.mask}
	if h.width > 0 {
		reach := slices.Max(h.columns.windows[0].limit)
		reach += 1e-9 * (reach + math.Abs(seed.low[0]) + math.Abs(seed.high[0])) // tolerates rounding
		around.low, around.high = seed.high[0]-reach, seed.low[0]+reach
	}
	return around
}

// countApart counts the tickets that the index excluded for a seed, each ticket of a
// small pool separately.
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

// sortBy orders candidates for a seed by the sort rules.
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
