package search

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// share is a worker's unit of work: searches around tickets of one part, within a number
// of steps.
type share struct {
	part  *part
	seeds []*item
	left  int // steps

	formed  []formed
	skipped []*item // not searched around because steps or time ran out
	cut     []*item // search was cut short
}

// formed is a match and its position among those of the pass.
type formed struct {
	rank  int
	match *Match
}

// Pass forms the matches that are possible at a time and removes their tickets from the
// pool. Parts are searched concurrently. The number of workers does not affect the
// result, unless a clock ends the pass.
func (p *Pool) Pass(now time.Time) []*Match {
	p.now = now
	p.ripen(now)
	if len(p.dirty) == 0 && !(p.rs.Large && p.deferred) {
		return nil // nothing changed, so nothing can match
	}
	if p.rs.Large {
		return p.passLarge()
	}
	p.exact = len(p.items) <= p.limits.Exact && !p.deferred
	p.deferred = false
	seeds := p.seeds()
	cut := len(seeds)
	if !p.exact {
		cut = slices.IndexFunc(seeds, func(it *item) bool { return it.cuts > 0 })
		if cut < 0 {
			cut = len(seeds)
		}
	}
	began := time.Time{}
	if p.limits.Clock != nil && p.limits.Time > 0 {
		began = p.limits.Clock()
		p.deadline = began.Add(p.limits.Time * 4 / 5)
	}
	reserve := p.limits.Work / 5
	matches, left := p.form(seeds[:cut], p.limits.Work-reserve)
	if !began.IsZero() {
		p.deadline = began.Add(p.limits.Time)
	}
	late, _ := p.form(seeds[cut:], max(left, 0)+reserve)
	return append(matches, late...)
}

// form searches around tickets, in order. Backfill of low priority is tried after
// everything else.
func (p *Pool) form(seeds []*item, work int) ([]*Match, int) {
	if p.rs.Algorithm.BackfillPriority != ruleset.PriorityLow {
		return p.around(seeds, true, work)
	}
	matches, left := p.around(seeds, false, work)
	if p.filling == 0 {
		return matches, left
	}
	more, left := p.around(seeds, true, left)
	return append(matches, more...), left
}

// seeds returns the tickets to search around, in order, and clears dirty. Of a small pool
// these are all; of a large one, those that changed, then those whose search was cut
// short.
func (p *Pool) seeds() []*item {
	var out []*item
	if p.exact {
		for _, it := range p.items {
			if !it.gone {
				out = append(out, it)
			}
		}
	} else {
		out = slices.DeleteFunc(p.dirty, func(it *item) bool { return it.gone })
	}
	p.dirty = nil
	p.sort(out)
	out = slices.Compact(out)
	if !p.exact {
		slices.SortStableFunc(out, func(a, b *item) int { return int(min(a.cuts, 1) - min(b.cuts, 1)) })
	} else {
		entries := make([]*entry, len(out))
		for i, it := range out {
			entries[i], it.level = it.entry, p.levelOf(it.entry)
		}
		p.markAlike(entries)
	}
	return out
}

// sort orders items by priority, then age.
func (s *searcher) sort(items []*item) {
	if s.rs.Algorithm.BackfillPriority == ruleset.PriorityNormal {
		slices.SortFunc(items, compareAge)
		return
	}
	slices.SortFunc(items, func(a, b *item) int {
		return cmp.Or(priority(s.rs, a.entry)-priority(s.rs, b.entry), compareAge(a, b))
	})
}

// around searches around each seed that is still waiting. Steps that some parts do not
// use go to those that need more.
func (p *Pool) around(seeds []*item, backfill bool, work int) (matches []*Match, left int) {
	for i, it := range seeds {
		it.rank = i
	}
	var all []formed
	for left = work; len(seeds) > 0; {
		shares := p.shares(seeds, backfill, left)
		if len(shares) == 0 { // only game sessions to backfill, which come later
			seeds = nil
			break
		}
		p.run(shares, backfill)
		left, seeds = 0, nil
		for _, sh := range shares {
			left += sh.left
			all = append(all, sh.formed...)
			seeds = append(seeds, sh.skipped...)
			p.dirty = append(p.dirty, sh.cut...)
		}
		if left <= work/16 || p.late() {
			break
		}
	}
	p.dirty = append(p.dirty, seeds...)
	p.deferred = len(p.dirty) > 0
	slices.SortFunc(all, func(a, b formed) int { return a.rank - b.rank })
	for _, f := range all {
		matches = append(matches, f.match)
		for _, t := range f.match.Tickets {
			p.forget(t.ID)
		}
	}
	return matches, left
}

// late reports whether the time of the pass has expired.
func (p *Pool) late() bool {
	return !p.deadline.IsZero() && !p.limits.Clock().Before(p.deadline)
}

// shares divides seeds by part, and work in proportion to the number of seeds.
func (p *Pool) shares(seeds []*item, backfill bool, work int) []*share {
	var out []*share
	of := map[*part]*share{}
	total := 0
	for _, it := range seeds {
		if it.gone || it.ticket.Backfill && !backfill {
			continue
		}
		sh := of[it.part]
		if sh == nil {
			sh = &share{part: it.part}
			of[it.part] = sh
			out = append(out, sh)
		}
		sh.seeds = append(sh.seeds, it)
		total++
	}
	for _, sh := range out {
		sh.left = max(1, int(float64(work)*float64(len(sh.seeds))/float64(total)))
	}
	return out
}

// sideBySide is the number of seeds from which a pass uses more than one goroutine.
const sideBySide = 64

// run processes the shares, those with the most seeds first, with up to Limits.Workers
// goroutines.
func (p *Pool) run(shares []*share, backfill bool) {
	seeds := 0
	for _, sh := range shares {
		seeds += len(sh.seeds)
	}
	workers := min(p.limits.Workers, len(shares))
	if seeds < sideBySide {
		workers = min(workers, 1)
	}
	for len(p.hunts) < workers {
		p.hunts = append(p.hunts, newHunt(p))
	}
	queue := slices.Clone(shares)
	slices.SortStableFunc(queue, func(a, b *share) int { return len(b.seeds) - len(a.seeds) })
	var next atomic.Int64
	var done sync.WaitGroup
	work := func(h *hunt) {
		for n := next.Add(1) - 1; int(n) < len(queue); n = next.Add(1) - 1 {
			h.work(queue[n], backfill)
		}
	}
	for i := 1; i < workers; i++ {
		done.Go(func() { work(p.hunts[i]) })
	}
	if workers > 0 {
		work(p.hunts[0])
	}
	done.Wait()
	for _, h := range p.hunts {
		p.Searches, p.Cut, p.Rejected = p.Searches+h.searches, p.Cut+h.cuts, p.Rejected+h.rejected
		h.searches, h.cuts, h.rejected = 0, 0, 0
	}
}
