package pages

import (
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

// recorder keeps in memory what happened in the last hour.
type recorder struct {
	of    Services
	begun time.Time // when the recording began

	whole     hour
	distances distances
	crashes   newest[Crash]
	toJudge   chan *flexmatch.Matched

	mu             sync.Mutex
	queues         map[string]*queueHistory
	configurations map[string]*matchHistory
	fleets         map[string]*hour
}

// queueHistory is what is remembered of a queue.
type queueHistory struct {
	hour
	ended newest[*placement.Placement]
}

// matchHistory is what is remembered of a matchmaking configuration.
type matchHistory struct {
	hour
	ended  newest[*life.Ticket]
	scales scales
}

// most bounds how many queues and configurations are remembered.
const most = 512

// newRecorder returns a recorder of what the services do from now on.
func newRecorder(s Services) *recorder {
	r := &recorder{
		of: s, begun: time.Now(), toJudge: make(chan *flexmatch.Matched, judgedAtOnce),
		queues: map[string]*queueHistory{}, configurations: map[string]*matchHistory{}, fleets: map[string]*hour{},
	}
	s.Sessions.OnActivated(func(tx *store.Tx, _ *session.GameSession) {
		at := tx.Now()
		tx.OnCommit(func() { r.whole.add(at, "starts", 1, -1) })
	})
	s.Computes.OnEnded(func(tx *store.Tx, c *compute.Process) {
		if crash, ok := crashOf(c, tx.Now()); ok {
			tx.OnCommit(func() {
				r.whole.add(crash.At, "crashes", 1, -1)
				r.crashes.add(crash)
			})
		}
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
	s.Matches.OnMatched(func(tx *store.Tx, m *flexmatch.Matched) { tx.OnCommit(func() { r.judge(m) }) })
	return r
}

// forget drops what is remembered of queues, configurations and fleets that were deleted.
func (r *recorder) forget(view store.Reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.queues {
		if r.of.Placements.Queues.Get(view, name) == nil {
			delete(r.queues, name)
		}
	}
	for name := range r.configurations {
		if r.of.Matches.Configurations.Get(view, name) == nil {
			delete(r.configurations, name)
		}
	}
	for id := range r.fleets {
		if r.of.Fleets.Get(view, id) == nil {
			delete(r.fleets, id)
		}
	}
}

// fleet returns what is remembered of a fleet; nil if there are too many.
func (r *recorder) fleet(id string) *hour {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.fleets[id]
	if h == nil && len(r.fleets) < most {
		h = &hour{}
		r.fleets[id] = h
	}
	return h
}

func (r *recorder) placementEnded(e *placement.Placement) {
	q := r.queue(e.Queue)
	if q == nil {
		return
	}
	took := time.Duration(-1)
	if e.Status == placement.Fulfilled {
		took = e.Ended.Sub(e.Started)
	}
	for _, h := range []*hour{&q.hour, &r.whole} {
		h.add(e.Ended, "placement "+string(e.Status), 1, -1)
	}
	if took >= 0 {
		q.hour.add(e.Ended, "placed", 1, took)
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
		c.hour.add(t.Started, "created", 1, -1)
	case t.Status.Over():
		took := time.Duration(-1)
		if t.Status == life.Completed {
			took = t.Ended.Sub(t.Started)
		}
		c.hour.add(t.Ended, string(t.Status), 1, took)
		r.whole.add(t.Ended, "ticket "+string(t.Status), 1, -1)
		c.ended.add(t)
	case t.Status == life.RequiresAcceptance && answered(t):
		// It was counted when the match was proposed.
	default:
		c.hour.add(time.Now(), string(t.Status), 1, -1)
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
