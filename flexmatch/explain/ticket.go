package explain

import (
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// Ticket explains why a ticket waits, given all waiting tickets, which may or may not
// include it. The result is deterministic.
func Ticket(rs *ruleset.RuleSet, opts search.Options, t *search.Ticket, waiting []*search.Ticket, now time.Time, limits Limits) *Explanation {
	if !slices.ContainsFunc(waiting, func(o *search.Ticket) bool { return o.ID == t.ID }) {
		waiting = append(waiting[:len(waiting):len(waiting)], t)
	}
	w := newWorld(rs, opts, waiting, now, limits)
	me := w.waiting[slices.IndexFunc(w.waiting, func(o *one) bool { return o.ID == t.ID })]
	return w.ticket(w.resolve(me))
}

func (w *world) ticket(t *one) *Explanation {
	waited := w.now.Sub(t.Created)
	e := &Explanation{
		TicketID: t.ID, Players: len(t.Players), Backfill: t.Backfill,
		Waited: waited.Milliseconds(), Level: w.rs.LevelAt(waited), Levels: len(w.rs.Levels()) - 1,
		NextStep: w.nextStep(t), Never: t.never, Others: len(w.waiting) - 1,
	}
	if len(e.Never) > 0 {
		return e
	}
	if e.Never, e.Alone = w.alone(t); len(e.Never) > 0 {
		return e
	}
	others := w.sample(t, w.limits.Others)
	compatible, blocking := w.compare(t, others)
	e.Compared, e.Compatible, e.Blocking = len(others), len(compatible), blocking
	e.Nearest = w.nearest(t, compatible)
	if w.limits.Ahead > 0 {
		e.Would, e.Ahead = w.would(t, compatible)
	}
	return e
}
