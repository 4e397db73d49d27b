package pages

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

// recorder keeps in memory what happened: up to a week ago in steps that are coarser the
// longer ago it was.
type recorder struct {
	of    Services
	begun time.Time // when this node began to record
	ranTo int64     // the last step that running has counted

	whole     history
	distances distances
	crashes   newest[Crash]
	toJudge   chan *flexmatch.Matched

	mu             sync.Mutex
	known          time.Time // from when crashes are known
	queues         map[string]*queueHistory
	configurations map[string]*matchHistory
	fleets         map[string]*history
}

// placed is what is counted of placements that found a place, with the time that they took.
const placed = "placed"

// queueHistory is what is remembered of a queue.
type queueHistory struct {
	history
	ended newest[*placement.Placement]
}

// matchHistory is what is remembered of a matchmaking configuration.
type matchHistory struct {
	history
	ended  newest[*life.Ticket]
	scales scales
}

// most bounds how many queues and configurations are remembered.
const most = 512

// newRecorder returns a recorder of what the services do from now on.
func newRecorder(s Services) *recorder {
	now := time.Now()
	r := &recorder{
		of: s, begun: now, known: now, toJudge: make(chan *flexmatch.Matched, judgedAtOnce),
		queues: map[string]*queueHistory{}, configurations: map[string]*matchHistory{}, fleets: map[string]*history{},
	}
	s.Sessions.OnActivated(func(tx *store.Tx, _ *session.GameSession) {
		at := tx.Now()
		tx.OnCommit(func() { r.whole.count(at, "starts") })
	})
	s.Computes.OnEnded(func(tx *store.Tx, c *compute.Process, how string) {
		crash, ok := crashOf(c, how, tx.Now())
		r.ended(tx, crash, ok)
	})
	s.Instances.OnUnconnected(func(tx *store.Tx, u instance.Unconnected) {
		crash, ok := earlyCrashOf(u, tx.Now())
		r.ended(tx, crash, ok)
	})
	s.Placements.OnEnded(func(tx *store.Tx, e *placement.Placement) {
		tx.OnCommit(func() { r.placementEnded(e) })
		r.recordDistances(tx, e)
	})
	s.Matches.OnChanged(func(tx *store.Tx, t *life.Ticket) {
		if !t.Backfill && t.Status != life.Searching { // which is nothing to count
			tx.OnCommit(func() { r.ticketChanged(t) })
		}
	})
	s.Matches.OnStage(func(tx *store.Tx, t *life.Ticket, ended flexmatch.Stage, took time.Duration) {
		at, configuration := tx.Now(), t.Configuration
		tx.OnCommit(func() { r.stageEnded(configuration, at, ended, took) })
	})
	s.Matches.OnMatched(func(tx *store.Tx, m *flexmatch.Matched) { tx.OnCommit(func() { r.judge(m) }) })
	return r
}

// ran is what is counted for each of the finest steps in which a node recorded: without it
// nothing is known of a step.
const ran = "ran"

// mostMissed is how many steps may pass between two samples of a node that was only slow.
// After more of them it, or its machine, stood still.
const mostMissed = 6

// running counts the steps in which this node recorded, up to now. It is called with each
// sample.
func (r *recorder) running(now time.Time) {
	of := &resolutions[fine]
	number := of.number(now)
	first := r.ranTo + 1
	if number-r.ranTo > mostMissed {
		first = number
	}
	for ; first <= number; first++ {
		r.whole.count(of.start(first), ran)
	}
	r.ranTo = number
}

// series returns the series of something that this recorder records.
func (r *recorder) series(h *history, now time.Time, s Range, counted, sampled []string) Series {
	known := r.whole.has(now, s, ran)
	out := h.series(now, s, known, counted, sampled)
	out.Begun = s.first(now, known)
	return out
}

// waits returns the quantiles of how long something took that this recorder records.
func (r *recorder) waits(h *history, now time.Time, s Range, what string) Series {
	out := h.quantiles(now, s, what)
	out.Begun = s.first(now, r.whole.has(now, s, ran))
	return out
}

// The kinds of things that are remembered by name.
const (
	aQueue         = "queue"
	aConfiguration = "configuration"
	aFleet         = "fleet"
)

// exists reports whether there is something of a kind with a name.
func (r *recorder) exists(view store.Reader, kind, name string) bool {
	switch kind {
	case aQueue:
		return r.of.Placements.Queues.Get(view, name) != nil
	case aConfiguration:
		return r.of.Matches.Configurations.Get(view, name) != nil
	case aFleet:
		return r.of.Fleets.Get(view, name) != nil
	}
	return false
}

// forget drops what is remembered of queues, configurations and fleets that were deleted.
func (r *recorder) forget(view store.Reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.queues, func(name string, _ *queueHistory) bool { return !r.exists(view, aQueue, name) })
	maps.DeleteFunc(r.configurations, func(name string, _ *matchHistory) bool { return !r.exists(view, aConfiguration, name) })
	maps.DeleteFunc(r.fleets, func(id string, _ *history) bool { return !r.exists(view, aFleet, id) })
}

// theCell is the name of the history of the whole cell.
const theCell = "cell"

// histories returns all histories by name: that of the cell, and KIND/NAME.
func (r *recorder) histories() map[string]*history {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]*history{theCell: &r.whole}
	for name, q := range r.queues {
		all[aQueue+"/"+name] = &q.history
	}
	for name, c := range r.configurations {
		all[aConfiguration+"/"+name] = &c.history
	}
	for id, h := range r.fleets {
		all[aFleet+"/"+id] = h
	}
	return all
}

// historyOf returns the history with a name of histories; nil if what it is of does not
// exist any more, or if there are too many.
func (r *recorder) historyOf(view store.Reader, name string) *history {
	if name == theCell {
		return &r.whole
	}
	kind, name, _ := strings.Cut(name, "/")
	if !r.exists(view, kind, name) {
		return nil
	}
	switch kind {
	case aQueue:
		if q := r.queue(name); q != nil {
			return &q.history
		}
	case aConfiguration:
		if c := r.configuration(name); c != nil {
			return &c.history
		}
	case aFleet:
		return r.fleet(name)
	}
	return nil
}

// since returns from when crashes are known.
func (r *recorder) since() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known
}

// restoreCrashes adds the crashes that earlier nodes recorded.
func (r *recorder) restoreCrashes(log crashLog) {
	r.mu.Lock()
	if log.Since.Before(r.known) {
		r.known = log.Since
	}
	r.mu.Unlock()
	r.crashes.before(log.Crashes)
}

// fleet returns what is remembered of a fleet; nil if there are too many.
func (r *recorder) fleet(id string) *history {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.fleets[id]
	if h == nil && len(r.fleets) < most {
		h = &history{}
		r.fleets[id] = h
	}
	return h
}

func (r *recorder) placementEnded(e *placement.Placement) {
	q := r.queue(e.Queue)
	if q == nil {
		return
	}
	for _, h := range []*history{&q.history, &r.whole} {
		h.count(e.Ended, "placement "+string(e.Status))
	}
	if e.Status == placement.Fulfilled {
		q.took(e.Ended, placed, e.Ended.Sub(e.Started))
	}
	q.ended.add(e)
}

// ticketChanged counts how far tickets come.
func (r *recorder) ticketChanged(t *life.Ticket) {
	c := r.configuration(t.Configuration)
	if c == nil {
		return
	}
	switch {
	case t.Status == life.Queued:
		c.count(t.Started, "created")
	case t.Status.Over():
		c.count(t.Ended, string(t.Status))
		r.whole.count(t.Ended, "ticket "+string(t.Status))
		c.ended.add(t)
	case t.Status == life.RequiresAcceptance && answered(t):
		// It was counted when the match was proposed.
	default:
		c.count(time.Now(), string(t.Status))
	}
}

// stageEnded counts how long a ticket was in a stage.
func (r *recorder) stageEnded(configuration string, at time.Time, ended flexmatch.Stage, took time.Duration) {
	if c := r.configuration(configuration); c != nil {
		c.took(at, string(ended), took)
	}
}

// answered reports whether a player of the ticket has answered to a proposed match.
func answered(t *life.Ticket) bool {
	return slices.ContainsFunc(t.Members, func(m life.Member) bool { return m.Answer != "" })
}

// queue returns what is remembered of a queue; nil if there are too many.
func (r *recorder) queue(name string) *queueHistory {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues[name]
	if q == nil && len(r.queues) < most {
		q = &queueHistory{}
		r.queues[name] = q
	}
	return q
}

// configuration returns what is remembered of a matchmaking configuration; nil if there are
// too many.
func (r *recorder) configuration(name string) *matchHistory {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.configurations[name]
	if c == nil && len(r.configurations) < most {
		c = &matchHistory{}
		r.configurations[name] = c
	}
	return c
}
