package explain

import (
	"cmp"
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/pool"
)

// future runs the search over waiting tickets without arrivals: passes now and whenever a
// ticket reaches an expansion step.
type future struct {
	*world
	pool  *pool.Pool
	ahead Ahead
}

// work bounds the steps of one pass that is played ahead (pool.Limits.Work).
const work = 100_000

func (w *world) future(tickets []*ticket) *future {
	limits := pool.Limits{Work: work, Workers: 1, Clock: w.limits.Clock, Time: w.limits.Time}
	f := &future{world: w, pool: pool.New(w.rs, w.opts, limits)}
	for _, o := range tickets {
		f.pool.Add(w.resolve(o).Ticket)
	}
	f.ahead = Ahead{Tickets: len(tickets), Bounded: len(tickets) < len(w.waiting)}
	return f
}

// moments returns the times at which something can change: now, and whenever a ticket
// reaches a step. If there are too many, some are rounded up.
func (f *future) moments(tickets []*ticket) []time.Time {
	var waits []time.Duration
	for _, o := range tickets {
		for _, l := range f.rs.Levels() {
			if in := l.From - f.now.Sub(o.Created); in > 0 {
				waits = append(waits, in)
			}
		}
	}
	slices.Sort(waits)
	waits = slices.Compact(waits)
	if most := f.limits.Passes - 1; len(waits) > most {
		f.ahead.Bounded = true
		grain := waits[len(waits)-1]/time.Duration(most) + 1
		for i, in := range waits {
			waits[i] = (in + grain - 1) / grain * grain
		}
		waits = slices.Compact(waits)
	}
	out := []time.Time{f.now}
	for _, in := range waits {
		out = append(out, f.now.Add(in))
	}
	return out
}

// run plays until matched returns true, the time is up, or the caller wants no result any more.
func (f *future) run(tickets []*ticket, matched func(at time.Time, m *search.Match) bool) {
	late := func() bool { return false }
	if clock := f.limits.Clock; clock != nil && f.limits.Time > 0 {
		begin := clock()
		late = func() bool { return clock().Sub(begin) > f.limits.Time }
	}
	for _, at := range f.moments(tickets) {
		if f.stopped() {
			return
		}
		f.ahead.Passes++
		f.ahead.Until = at.Sub(f.now).Milliseconds()
		for _, m := range f.pool.Pass(at) {
			if matched(at, m) {
				return
			}
		}
		if f.ahead.Cut = late(); f.ahead.Cut {
			return
		}
	}
}

// would returns the match that the ticket will be in, or nil.
func (w *world) would(t *ticket, compatible []*ticket) (*Future, Ahead) {
	tickets := w.neighbours(t, compatible)
	f := w.future(tickets)
	var out *Future
	f.run(tickets, func(at time.Time, m *search.Match) bool {
		if !slices.Contains(m.Tickets, t.Ticket) {
			return false
		}
		out = &Future{At: at, In: at.Sub(w.now).Milliseconds(), Level: m.Level}
		for _, o := range m.Tickets {
			out.Tickets = append(out.Tickets, o.ID)
			out.Players += len(o.Players)
		}
		return true
	})
	return out, f.ahead
}

// neighbours returns the tickets to play ahead: all or, if there are too many, the oldest
// ones that could play with the ticket at some time.
func (w *world) neighbours(t *ticket, compatible []*ticket) []*ticket {
	if len(w.waiting) <= w.limits.Ahead {
		return w.waiting
	}
	out := append([]*ticket{t}, compatible...)
	known := make(map[*ticket]bool, len(out))
	for _, o := range out {
		known[o] = true
	}
	last := w.rs.Levels()[len(w.rs.Levels())-1]
	for looked, o := range w.waiting {
		if len(out) >= w.limits.Ahead || looked >= w.limits.Others {
			break
		}
		if !known[o] && len(w.resolve(o).never) == 0 && w.apart(last, t, o) == "" && len(broken(w.pairing, last, search.Together(w.rs, t.candidate, o.candidate))) == 0 {
			out = append(out, o)
		}
	}
	out = out[:min(len(out), w.limits.Ahead)]
	slices.SortFunc(out, func(a, b *ticket) int { return cmp.Or(older(a, b), cmp.Compare(a.ID, b.ID)) })
	return out
}

// nextStep returns the next expansion step that a ticket will reach, or nil.
func (w *world) nextStep(t *ticket) *Step {
	waited := w.now.Sub(t.Created)
	next := w.rs.LevelAt(waited) + 1
	if next >= len(w.rs.Levels()) {
		return nil
	}
	return &Step{Level: next, In: (w.rs.Levels()[next].From - waited).Milliseconds(), Changes: changes(w.rs, next)}
}

// changes returns the rules and teams that differ from the previous level.
func changes(rs *ruleset.RuleSet, level int) []string {
	before, after := rs.Levels()[level-1], rs.Levels()[level]
	var out []string
	for i, r := range after.Rules {
		if r != before.Rules[i] {
			out = append(out, "rule "+r.Name)
		}
	}
	for i, size := range after.Sizes {
		if name := "team " + rs.Teams[rs.Instances[i].Team].Name; size != before.Sizes[i] && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
