package search

import (
	"cmp"
	"slices"
)

// Packing applies if only a window and equal values decide, all tickets are single
// players and all matches have one size. Then many new tickets are packed in order of the
// window's value: each match takes the next tickets that are within the window. That
// yields the greatest possible number of matches, each of near neighbors. Matches formed
// around one ticket after the other would leave gaps with too few tickets between them.

// packable reports whether packing applies to a rule set.
func (c *columns) packable(p *plan, opts Options) bool {
	return len(c.rs.Levels()) == 1 && len(c.windows) == 1 && len(c.latencies) == 0 && len(c.perTicket) == 0 &&
		len(c.flat) == 0 && len(p.teams) == 0 && !c.sorts && c.least == c.most && opts.AdditionalPlayerCount == 0
}

// bulk reports whether a share is packed: most of its part is new, and too many tickets
// wait for an exhaustive search.
func (h *hunt) bulk(sh *share) bool {
	return !h.exact && h.packable && h.part.live > h.limits.Candidates && 2*len(sh.seeds) >= h.part.live && len(h.part.backfills) == 0 && len(sh.seeds) <= sh.left
}

// pack forms the matches of a part.
func (h *hunt) pack(sh *share) {
	all := h.part.all()
	sh.left -= len(all)
	if slices.ContainsFunc(all, func(it *item) bool { return it.size != 1 }) {
		return
	}
	slices.SortFunc(all, func(a, b *item) int { return cmp.Or(cmp.Compare(a.low[0], b.low[0]), compareAge(a, b)) })
	size, reach := h.columns.most, h.columns.windows[0].limit[0]
	var matches [][]*item
	var over []*item
	for i := 0; i < len(all); {
		if i+size > len(all) || all[i+size-1].low[0]-all[i].low[0] > reach {
			over = append(over, all[i])
			i++
			continue
		}
		matches = append(matches, slices.Clone(all[i:i+size]))
		i += size
	}
	seniority(matches, over, reach)
	for _, set := range matches {
		slices.SortFunc(set, compareAge)
		if m := h.formOf(set); m != nil {
			first, _ := slices.BinarySearchFunc(sh.seeds, set[0], compareAge)
			sh.formed = append(sh.formed, formed{sh.seeds[min(first, len(sh.seeds)-1)].rank, m})
		}
	}
}

// formOf returns a match of a set and removes its items from the part, or returns nil.
func (h *hunt) formOf(set []*item) *Match {
	h.searches++
	clear(h.tally)
	h.bound(set[0], h.limits.Nodes, h.limits.Placements)
	h.set = append(h.set[:0], set...)
	h.seen[causeNone] += len(set) - 1
	m := h.place()
	h.seen.into(h.tally, h.columns)
	if m == nil {
		return nil
	}
	m.Evaluations = h.tally.evaluations(h.pool.evaluated)
	for _, it := range set {
		h.part.remove(it)
	}
	return m
}

// maxSwaps bounds the rounds over the tickets that were left over.
const maxSwaps = 100

// seniority lets tickets that were left over, oldest first, replace younger ones in
// matches within reach, until nothing changes.
func seniority(matches [][]*item, over []*item, reach float64) {
	starts := make([]float64, len(matches))
	for n, set := range matches {
		starts[n] = set[0].low[0]
	}
	for range maxSwaps {
		slices.SortFunc(over, compareAge)
		changed := false
		for i, it := range over {
			n, _ := slices.BinarySearch(starts, it.low[0]-2*reach) // a start moves by less than reach
			for ; n < len(matches) && starts[n] <= it.low[0]+2*reach; n++ {
				if out := yield(matches[n], it, reach); out != nil {
					over[i], changed = out, true
					break
				}
			}
		}
		if !changed {
			return
		}
	}
}

// yield puts an older ticket in place of the youngest one in a match that is younger and
// keeps all within reach when replaced. It returns the replaced ticket, or nil.
func yield(set []*item, it *item, reach float64) *item {
	slices.SortFunc(set, func(a, b *item) int { return compareAge(b, a) })
	for i, younger := range set {
		if compareAge(younger, it) <= 0 {
			return nil
		}
		low, high := it.low[0], it.low[0]
		for n, other := range set {
			if n != i {
				low, high = min(low, other.low[0]), max(high, other.low[0])
			}
		}
		if high-low <= reach {
			set[i] = it
			return younger
		}
	}
	return nil
}

// all returns the tickets in a part's buckets.
func (p *part) all() []*item {
	out := make([]*item, 0, p.live)
	for _, b := range p.buckets {
		for _, s := range b.items[b.head:] {
			if !s.it.gone {
				out = append(out, s.it)
			}
		}
	}
	return out
}
