package pool

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/flexmatch/search"
)

// Packing applies if only a window and equal values decide, all tickets are single
// players and all matches have one size (columns.packable). Then many new tickets are
// packed in order of the window's value: each match takes the next tickets that are within
// the window. That yields the greatest possible number of matches, each of near neighbors.
// Matches formed around one ticket after another would leave too few tickets between them.

// packs reports whether a task is packed: at least half of its partition are anchors, and
// more tickets wait there than a search around one of them gathers.
func (w *worker) packs(ps *pass, t *task) bool {
	p := t.partition
	return !ps.exact && w.pool.columns.packable && p.live > w.pool.limits.Candidates && 2*len(t.anchors) >= p.live && len(p.backfills) == 0 && len(t.anchors) <= t.left
}

func (w *worker) pack(ps *pass, t *task) {
	all := t.partition.all()
	t.left -= len(all)
	if slices.ContainsFunc(all, func(it *item) bool { return it.Size != 1 }) {
		return
	}
	slices.SortFunc(all, func(a, b *item) int { return cmp.Or(cmp.Compare(a.low[0], b.low[0]), compareAge(a, b)) })
	size, reach := w.pool.columns.rules.Most, w.pool.columns.reach
	var sets [][]*item
	var over []*item
	for i := 0; i < len(all); {
		if i+size > len(all) || all[i+size-1].low[0]-all[i].low[0] > reach {
			over = append(over, all[i])
			i++
			continue
		}
		sets = append(sets, slices.Clone(all[i:i+size]))
		i += size
	}
	preferOlder(sets, over, reach)
	for _, set := range sets {
		slices.SortFunc(set, compareAge)
		if m := w.form(ps, t, set); m != nil {
			first, _ := slices.BinarySearchFunc(t.anchors, set[0], compareAge)
			t.formed = append(t.formed, formed{t.anchors[min(first, len(t.anchors)-1)].rank, t.partition, m})
		}
	}
}

// form returns a match of a set and removes its items from the partition, or returns nil.
func (w *worker) form(ps *pass, t *task, set []*item) *search.Match {
	w.searches++
	clear(w.judge.Tally)
	a := newAttempt(w, ps, t, set[0])
	a.begin(w.pool.limits.Nodes, w.pool.limits.Placements)
	a.memory.set = append(a.memory.set[:0], set...)
	w.seen[causeNone] += len(set) - 1
	m := a.seat()
	w.seen.into(w.judge.Tally, a.columns)
	if m == nil {
		return nil
	}
	m.Rules = w.judge.Tally.Counts(w.pool.rules.Set)
	for _, it := range set {
		t.partition.remove(it)
	}
	return m
}

// maxSwaps bounds the rounds over the tickets that were left over.
const maxSwaps = 100

// preferOlder replaces tickets in matches by older ones that were left over, oldest first
// and within reach, until nothing changes or maxSwaps is reached.
func preferOlder(sets [][]*item, over []*item, reach float64) {
	starts := make([]float64, len(sets))
	for n, set := range sets {
		starts[n] = set[0].low[0]
	}
	for range maxSwaps {
		slices.SortFunc(over, compareAge)
		changed := false
		for i, it := range over {
			n, _ := slices.BinarySearch(starts, it.low[0]-2*reach) // a start moves by less than reach
			for ; n < len(sets) && starts[n] <= it.low[0]+2*reach; n++ {
				if out := replace(sets[n], it, reach); out != nil {
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

// replace replaces one ticket of a set by it: the youngest of those that are younger than
// it and whose replacement keeps all tickets within reach. It returns the replaced ticket,
// or nil.
func replace(set []*item, it *item, reach float64) *item {
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
