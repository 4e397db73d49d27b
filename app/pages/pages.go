package pages

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/lobby"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

// Services are what the pages tell about.
type Services struct {
	Home       arn.Home
	Store      *store.Store
	Events     *event.Log
	Fleets     *fleet.Service
	Computes   *compute.Service
	Sessions   *session.Service
	Instances  *instance.Service
	Placements *placement.Service
	Matches    *flexmatch.Service
	Identity   *identity.Service
	Lobby      *lobby.Service
	States     func() []client.Fleet // every fleet with its load
	Tags       func(resourceARN string) map[string]string
}

// Pages computes the pages of one node.
type Pages struct {
	Services
	begun time.Time // when the recording began

	whole     hour
	distances distances
	crashes   newest[Crash]
	notables  notables
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

// New returns Pages that record from now on. It must be called before the store is opened.
func New(s Services) *Pages {
	p := &Pages{Services: s, begun: time.Now(), queues: map[string]*queueHistory{}, configurations: map[string]*matchHistory{}, fleets: map[string]*hour{}, toJudge: make(chan *flexmatch.Matched, judgedAtOnce)}
	s.Sessions.OnActivated(func(tx *store.Tx, _ *session.GameSession) {
		at := tx.Now()
		tx.OnCommit(func() { p.whole.add(at, "starts", 1, -1) })
	})
	s.Computes.OnEnded(func(tx *store.Tx, c *compute.Process) {
		if crash, ok := crashOf(c, tx.Now()); ok {
			tx.OnCommit(func() {
				p.whole.add(crash.At, "crashes", 1, -1)
				p.crashes.add(crash)
			})
		}
	})
	s.Placements.OnEnded(func(tx *store.Tx, e *placement.Placement) {
		tx.OnCommit(func() { p.placementEnded(e) })
		p.recordDistances(tx, e)
	})
	s.Matches.OnChanged(func(tx *store.Tx, t *life.Ticket) {
		if !t.Backfill {
			tx.OnCommit(func() { p.ticketChanged(t) })
		}
	})
	s.Matches.OnMatched(func(tx *store.Tx, m *flexmatch.Matched) { tx.OnCommit(func() { p.judge(m) }) })
	return p
}

// Run samples what is in use, and measures matches, until ctx ends.
func (p *Pages) Run(ctx context.Context) {
	tick := time.NewTicker(step)
	defer tick.Stop()
	p.sample(time.Now())
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.sample(time.Now())
		case m := <-p.toJudge:
			p.measure(m)
		}
	}
}

// sample records the figures of this moment.
func (p *Pages) sample(now time.Time) {
	view := p.Store.View()
	if view == nil {
		return
	}
	t := p.totals(view)
	p.whole.set(now, "players", t.Players)
	p.whole.set(now, "sessions", t.Sessions)
	p.whole.set(now, "waiting", t.Waiting)
	p.whole.set(now, "pending", t.Pending)
	p.whole.set(now, "free", t.Free)
	there := map[string]bool{}
	for _, f := range p.States() {
		there[f.ID] = true
		h := p.fleet(f.ID)
		if h == nil {
			continue
		}
		h.set(now, "players", f.Players)
		h.set(now, "sessions", f.Sessions+f.Activating)
		h.set(now, "processes", f.Processes)
		h.set(now, "free", f.Free)
		h.set(now, "wanted", f.Desired)
		h.set(now, "there", f.Active)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.fleets {
		if !there[id] {
			delete(p.fleets, id)
		}
	}
}

// fleet returns what is remembered of a fleet; nil if there are too many.
func (p *Pages) fleet(id string) *hour {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.fleets[id]
	if h == nil && len(p.fleets) < most {
		h = &hour{}
		p.fleets[id] = h
	}
	return h
}

func (p *Pages) placementEnded(e *placement.Placement) {
	q := p.queue(e.Queue)
	if q == nil {
		return
	}
	took := time.Duration(-1)
	if e.Status == placement.Fulfilled {
		took = e.Ended.Sub(e.Started)
	}
	for _, h := range []*hour{&q.hour, &p.whole} {
		h.add(e.Ended, "placement "+string(e.Status), 1, -1)
	}
	if took >= 0 {
		q.hour.add(e.Ended, "placed", 1, took)
	}
	q.ended.add(e)
}

// ticketChanged counts how far tickets come.
func (p *Pages) ticketChanged(t *life.Ticket) {
	c := p.configuration(t.Configuration)
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
		p.whole.add(t.Ended, "ticket "+string(t.Status), 1, -1)
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
func (p *Pages) queue(name string) *queueHistory {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queues[name]
	if q == nil && len(p.queues) < most {
		q = &queueHistory{}
		p.queues[name] = q
	}
	return q
}

// configuration returns what is remembered of a matchmaking configuration; nil if there are
// too many.
func (p *Pages) configuration(name string) *matchHistory {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.configurations[name]
	if c == nil && len(p.configurations) < most {
		c = &matchHistory{}
		p.configurations[name] = c
	}
	return c
}
