package pool

import (
	"math"
	"slices"

	"github.com/musterhq/muster/flexmatch/search"
)

// worker does one task after another. It has memory that its searches reuse.
type worker struct {
	pool     *Pool // its items are read in an exhaustive pass only
	judge    *search.Judge
	seating  *search.Seating
	deadline search.Deadline
	scratch  scratch
	seen     causes // verdicts of columns not yet added to the tally

	searches, cut, rejected int  // of the pass
	ended                   bool // a search of the pass was ended by the time
	unsure                  bool // in the pass: some set may match although the search found nothing
}

// scratch is memory that successive attempts reuse. No attempt reads what an earlier one
// left in it.
type scratch struct {
	walk       walk
	walked     []entry // tickets from the index that could join the anchor
	near       []entry // of walked, the candidates
	crowd      crowd
	admission  admission // to near
	candidates [][]entry // remaining candidates, by number of tickets that joined the anchor
	set        []*item
	shared     []*shared // by number of tickets in the set
	tried      []numbers // likewise
	has        []int     // by quota, with one ticket more
	members    []*search.Candidate
	matched    []*item // the set of the match found last
}

func newWorker(p *Pool) *worker {
	w := &worker{pool: p, judge: search.NewJudge(p.rules), seen: make(causes, p.columns.causeQuota()+len(p.rules.Quotas))}
	w.seating = search.NewSeating(w.judge, &w.deadline)
	return w
}

// maxCuts is how often the bounds of a ticket's search may be doubled.
const maxCuts = 4

// do searches around the anchors of a task until its steps or the time are used up.
func (w *worker) do(ps *pass, t *task) {
	w.judge.Now, w.deadline = ps.now, search.Deadline{Clock: w.pool.limits.Clock, At: ps.deadline}
	if w.packs(ps, t) {
		w.pack(ps, t)
	}
	late, before := false, w.searches
	for i, anchor := range t.anchors {
		if anchor.gone {
			continue
		}
		if late = late || w.deadline.Over(); late || t.left <= 0 {
			t.skipped = slices.DeleteFunc(t.anchors[i:], func(it *item) bool { return it.gone })
			break
		}
		if ps.settled && !slices.ContainsFunc(t.changed, func(it *item) bool { return !it.gone && !it.failed }) {
			w.searches++ // settled by those before
			continue
		}
		m, cut := w.search(ps, t, anchor)
		switch {
		case m != nil:
			t.formed = append(t.formed, formed{anchor.rank, t.partition, m})
			for _, it := range w.scratch.matched {
				t.partition.remove(it)
			}
		case w.deadline.Missed && w.searches > before+1: // cut only because the pass ran out of time
			t.cut = append(t.cut, anchor)
		case cut && anchor.cuts < maxCuts:
			anchor.cuts++
			t.cut = append(t.cut, anchor)
		}
	}
	t.left = max(t.left, 0)
}

// search searches for a match around an anchor and subtracts its steps from the task. It
// also returns whether the search was cut short.
func (w *worker) search(ps *pass, t *task, anchor *item) (m *search.Match, cut bool) {
	w.searches++
	t.left--
	clear(w.judge.Tally)
	a := newAttempt(w, ps, t, anchor)
	crowded := a.crowded()
	if crowded && (crowdSearch{&a}).vain() {
		return nil, false
	}
	a.memory.walked = a.memory.walked[:0]
	if !crowded || a.columns.plain {
		a.memory.walk.begin(t.partition, a.around(), a.columns.width)
	}
	if a.exact {
		m = w.whole(&a, t)
	} else if crowded {
		alone := false
		if a.columns.plain {
			m, alone = w.quick(&a, t)
		}
		if m == nil && !alone {
			m = w.crowd(&a, t)
		}
		if m == nil && !alone {
			crowdSearch{&a}.prove()
		}
	} else if m, _ = w.quick(&a, t); m == nil {
		m = w.thorough(&a, t)
	}
	w.seen.into(w.judge.Tally, a.columns)
	w.unsure = w.unsure || a.unsure || a.cut
	if m != nil {
		m.Rules = w.judge.Tally.Counts(w.pool.rules.Set)
		return m, false
	}
	anchor.tally = anchor.tally.Plus(w.judge.Tally)
	switch {
	case w.deadline.Missed:
		w.ended = true
	case a.cut || a.bounded:
		w.cut++
	}
	anchor.failed = a.exact && !a.cut && !a.unsure
	return nil, a.cut
}

// quick searches for a match of the greatest size among the first few candidates only. If
// many wait, there usually is one. It also reports whether the anchor is too small for a match, and
// nobody could join it.
func (w *worker) quick(a *attempt, t *task) (m *search.Match, alone bool) {
	players, limits := 2*a.columns.rules.Most+4, &w.pool.limits
	if a.exact || a.columns.sorts || a.anchor.cuts > 0 || players >= limits.Candidates || t.partition.live <= limits.Candidates {
		return nil, false
	}
	a.begin(limits.Nodes/4, limits.Placements)
	if a.gather(players, players); !a.partial { // there are no more candidates: thorough tries them all
		return nil, len(a.memory.candidates[0]) == 0 && a.anchor.Size+a.anchor.Held < a.columns.rules.Least
	}
	m = a.best(a.room())
	t.left -= a.budget.spent()
	return m, false
}

// thorough searches for the best match within the limits.
func (w *worker) thorough(a *attempt, t *task) *search.Match {
	limits, cuts := &w.pool.limits, a.anchor.cuts
	a.begin(limits.Nodes<<cuts, 4*limits.Placements<<cuts)
	a.gather(limits.Candidates<<cuts, math.MaxInt)
	m := a.best(0)
	t.left -= a.budget.spent()
	a.cut = a.cut || m == nil && a.partial
	return m
}

// whole searches all sets for the best match, unless that takes more steps than it did lately in
// vain; then it searches as in a crowd.
func (w *worker) whole(a *attempt, t *task) *search.Match {
	p := w.pool
	steps := min(t.left, p.patience)
	if a.begin(steps, steps/search.Judgement); a.hopeless(t) {
		return nil
	}
	a.gather(len(p.items), math.MaxInt)
	if a.most = (crowdSearch{a}).provable(); a.most == 0 {
		return nil
	}
	m := a.best(0)
	t.left -= a.budget.spent()
	if !a.cut || w.deadline.Missed || steps < p.patience {
		p.patience = min(p.mostPatience(), p.patience+max(p.patience/16, 4*a.budget.spent()-p.patience))
		return m
	}
	p.patience = max(leastPatience, p.patience/4)
	a.unsure = true
	if !a.columns.crowds(int(a.anchor.level)) {
		return nil
	}
	return w.crowd(a, t)
}

// Bounds of the steps that an exhaustive search may take.
const (
	leastPatience = 500
	mostPatience  = 20_000
)

func (p *Pool) mostPatience() int {
	if p.limits.Nodes >= many {
		return p.limits.Work
	}
	return min(p.limits.Work, mostPatience)
}

// budget is what an attempt may spend before it is cut short.
type budget struct {
	sets       int
	placements int
	granted    int // steps at the start
}

func newBudget(sets, placements int) budget {
	return budget{sets, placements, sets + search.Judgement*placements}
}

// spent returns the steps used so far.
func (b *budget) spent() int { return b.granted - b.sets - search.Judgement*b.placements }
