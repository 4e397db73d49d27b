package pool

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/large"
)

// pass is what all searches of one pass have in common.
type pass struct {
	now      time.Time
	exact    bool      // searches are exhaustive
	settled  bool      // exhaustive, and no match is possible without a changed ticket
	backfill bool      // game sessions may be backfilled
	top      int       // the highest level of a ticket
	deadline time.Time // by Limits.Clock; zero if there is none
}

// task is a worker's unit of work: searches around anchors of one partition, within a
// number of steps.
type task struct {
	partition *partition
	anchors   []*item
	changed   []*item // in an exhaustive pass: the changed ones of anchors
	left      int     // steps

	formed  []formed
	skipped []*item // not searched around because steps or time ran out
	cut     []*item // search was cut short
}

// formed is a match and its position among those of the pass.
type formed struct {
	rank      int32
	partition *partition
	match     *search.Match
}

// Pass forms the matches that are possible at a time and removes their tickets from the
// pool. Partitions are searched concurrently. The number of workers does not affect the
// result, unless a clock ends the pass.
func (p *Pool) Pass(now time.Time) []*search.Match {
	p.expand(now)
	if len(p.changed) == 0 && !(p.rules.Set.Large && p.deferred) {
		return nil // so nothing can match
	}
	p.Passes++
	if p.ended = false; p.rules.Set.Large {
		return p.passLarge(now)
	}
	ps := &pass{now: now, exact: len(p.items) <= p.limits.Exact && !p.deferred}
	ps.settled = ps.exact && p.settled
	ps.top = len(p.rules.Set.Levels()) - 1
	if ps.exact {
		ps.top = 0
		for _, it := range p.items {
			ps.top = max(ps.top, int(it.level))
		}
	}
	p.deferred, p.settled = false, false
	anchors := p.anchors(ps)
	cut := len(anchors)
	if !ps.exact {
		cut = slices.IndexFunc(anchors, func(it *item) bool { return it.cuts > 0 })
		if cut < 0 {
			cut = len(anchors)
		}
	}
	began := time.Time{}
	if p.limits.Clock != nil && p.limits.Time > 0 {
		began = p.limits.Clock()
		ps.deadline = began.Add(p.limits.Time * 4 / 5)
	}
	reserve := p.limits.Work / 5
	matches, left := p.form(ps, anchors[:cut], p.limits.Work-reserve)
	if !began.IsZero() {
		ps.deadline = began.Add(p.limits.Time)
	}
	late, _ := p.form(ps, anchors[cut:], max(left, 0)+reserve)
	p.settled = ps.exact && !p.deferred && !p.unsure()
	if p.ended {
		p.Ended++
	}
	return append(matches, late...)
}

// passLarge forms large matches. When its steps are used up, the rest
// is left to the next pass.
func (p *Pool) passLarge(now time.Time) []*search.Match {
	var partitions []large.Partition
	for key, in := range p.partitions {
		items := in.all()
		if len(in.backfills) > 0 {
			items = append(items, in.backfills...)
			sortItems(p.rules.Set, items)
		}
		candidates := make([]*search.Candidate, len(items))
		for i, it := range items {
			candidates[i] = &it.Candidate
		}
		partitions = append(partitions, large.Partition{Key: key, Candidates: candidates})
	}
	const steps = 10 // examining a ticket costs less than trying a set
	matches, more := p.large.Pass(partitions, now, large.Bounds{Steps: steps * p.limits.Work, Clock: p.limits.Clock, Time: p.limits.Time}, len(p.changed) > 0)
	if p.changed, p.deferred = nil, more; more {
		p.Ended++
	}
	for _, m := range matches {
		m.Rules = []search.RuleCount{} // the search for large matches counts none
		for _, t := range m.Tickets {
			p.Remove(t.ID)
		}
	}
	return matches
}

// unsure reports whether a search of the last pass left a set whose placements it did not
// all try.
func (p *Pool) unsure() bool {
	unsure := false
	for _, w := range p.workers {
		unsure, w.unsure = unsure || w.unsure, false
	}
	return unsure
}

// form searches around anchors, in order. Backfill of low priority is tried after
// everything else.
func (p *Pool) form(ps *pass, anchors []*item, work int) ([]*search.Match, int) {
	ps.backfill = p.rules.Set.Algorithm.BackfillPriority != ruleset.PriorityLow
	matches, left := p.around(ps, anchors, work)
	if ps.backfill || p.backfills == 0 {
		return matches, left
	}
	ps.backfill = true
	more, left := p.around(ps, anchors, left)
	return append(matches, more...), left
}

// anchors returns the tickets to search around, in order, and clears changed. Of a small
// pool these are all; of a large one, those that changed, then those whose search was cut
// short.
func (p *Pool) anchors(ps *pass) []*item {
	var out []*item
	if ps.exact {
		for _, it := range p.items {
			if !it.gone {
				it.changed = false
				out = append(out, it)
			}
		}
		for _, it := range p.changed {
			it.changed = true
		}
	} else {
		out = slices.DeleteFunc(p.changed, func(it *item) bool { return it.gone })
	}
	p.changed = nil
	sortItems(p.rules.Set, out)
	out = slices.Compact(out)
	if !ps.exact {
		if slices.ContainsFunc(out, func(it *item) bool { return it.cuts > 0 }) {
			slices.SortStableFunc(out, func(a, b *item) int { return int(min(a.cuts, 1) - min(b.cuts, 1)) })
		}
		return out
	}
	candidates := make([]*search.Candidate, len(out))
	for i, it := range out {
		candidates[i] = &it.Candidate
	}
	for i, n := range p.rules.Alike(candidates, ps.now) {
		out[i].alike = int32(n)
	}
	return out
}

// sortItems sorts items by priority, then age.
func sortItems(rs *ruleset.RuleSet, items []*item) {
	if rs.Algorithm.BackfillPriority == ruleset.PriorityNormal && slices.IsSortedFunc(items, compareAge) {
		return // as new tickets mostly are
	}
	entries := make([]entry, len(items))
	for i, it := range items {
		entries[i] = it.entry()
	}
	sortEntries(rs, entries)
	for i := range entries {
		items[i] = entries[i].it
	}
}

func sortEntries(rs *ruleset.RuleSet, entries []entry) {
	if rs.Algorithm.BackfillPriority == ruleset.PriorityNormal {
		slices.SortFunc(entries, compareEntries)
		return
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(search.Priority(rs, &a.it.Candidate)-search.Priority(rs, &b.it.Candidate), compareEntries(a, b))
	})
}

// around searches around each anchor that is still waiting. Steps that some partitions do
// not use go to those that need more.
func (p *Pool) around(ps *pass, anchors []*item, work int) (matches []*search.Match, left int) {
	for i, it := range anchors {
		it.rank, it.failed = int32(i), false
	}
	var all []formed
	for left = work; len(anchors) > 0; {
		tasks := divide(anchors, ps.backfill, left)
		if len(tasks) == 0 { // only game sessions to backfill, which come later
			anchors = nil
			break
		}
		p.run(ps, tasks)
		left, anchors = 0, nil
		for _, t := range tasks {
			left += t.left
			all = append(all, t.formed...)
			anchors = append(anchors, t.skipped...)
			p.changed = append(p.changed, t.cut...)
		}
		if deadline := (search.Deadline{Clock: p.limits.Clock, At: ps.deadline}); left <= work/16 || deadline.Over() {
			break
		}
	}
	p.changed, p.ended = append(p.changed, anchors...), p.ended || len(anchors) > 0
	p.deferred = len(p.changed) > 0
	slices.SortFunc(all, func(a, b formed) int { return int(a.rank - b.rank) })
	p.forgetMatched(all)
	matches = slices.Grow(matches, len(all))
	for _, f := range all {
		matches = append(matches, f.match)
	}
	return matches, left
}

// divide makes a task of the anchors of each partition, with work in proportion to their
// number.
func divide(anchors []*item, backfill bool, work int) []*task {
	var out []*task
	of := map[*partition]*task{}
	total := 0
	for _, it := range anchors {
		if it.gone || it.Party.Individuals && !backfill {
			continue
		}
		t := of[it.partition]
		if t == nil {
			t = &task{partition: it.partition}
			of[it.partition] = t
			out = append(out, t)
		}
		t.anchors = append(t.anchors, it)
		if it.changed {
			t.changed = append(t.changed, it)
		}
		total++
	}
	for _, t := range out {
		t.left = max(1, int(float64(work)*float64(len(t.anchors))/float64(total)))
	}
	return out
}

// sideBySide is the least number of anchors for which a pass uses more than one goroutine.
const sideBySide = 64

// run does tasks, those with the most anchors first, with up to Limits.Workers goroutines.
func (p *Pool) run(ps *pass, tasks []*task) {
	anchors := 0
	for _, t := range tasks {
		anchors += len(t.anchors)
	}
	workers := min(p.limits.Workers, p.atOnce, len(tasks))
	if anchors < sideBySide {
		workers = min(workers, 1)
	}
	for len(p.workers) < workers {
		p.workers = append(p.workers, newWorker(p))
	}
	queue := slices.Clone(tasks)
	slices.SortStableFunc(queue, func(a, b *task) int { return len(b.anchors) - len(a.anchors) })
	var group struct {
		next atomic.Int64 // in the queue
		done sync.WaitGroup
	}
	work := func(w *worker) {
		for n := group.next.Add(1) - 1; int(n) < len(queue); n = group.next.Add(1) - 1 {
			w.do(ps, queue[n])
		}
	}
	for i := 1; i < workers; i++ {
		group.done.Go(func() { work(p.workers[i]) })
	}
	if workers > 0 {
		work(p.workers[0])
	}
	group.done.Wait()
	for _, w := range p.workers {
		p.Searches, p.Cut, p.Rejected, p.ended = p.Searches+w.searches, p.Cut+w.cut, p.Rejected+w.rejected, p.ended || w.ended
		w.searches, w.cut, w.rejected, w.ended = 0, 0, 0, false
	}
}
