package flexmatch

import (
	"context"
	"sync"
	"time"

	"github.com/musterhq/muster/flexmatch/explain"
	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// Explanation describes the state of a ticket, and why it waits if it does.
type Explanation struct {
	Ticket  *Ticket              `json:"ticket"`
	Waiting *explain.Explanation `json:"waiting,omitzero"` // if the ticket waits for a match

	// Late explains a ticket that has timed out, at the age at which it did, among the tickets
	// that wait now: those that waited then are not known.
	Late *explain.Explanation `json:"late,omitzero"`
}

// explanations are what Service.Explain and Service.Overview share with all who ask.
type explanations struct {
	gates     gates // by configuration
	tickets   shared[*explain.Explanation]
	overviews shared[*explain.Overview]
}

// Explain explains the state of a ticket. The explanation may be some seconds old if it takes
// long to compute; Explanation.At says when it was true. Errors: NotFound, or that of ctx.
func (s *Service) Explain(ctx context.Context, id string) (*Explanation, error) {
	d, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, fault.Missing("TicketId: ticket %s does not exist", id)
	}
	e, t := &Explanation{Ticket: d.Ticket}, d.Ticket
	switch {
	case t.Status.Waits():
		e.Waiting, err = s.explainTicket(ctx, d, func(w *waiting) *explain.Explanation {
			why := explain.Ticket(w.rules, w.options, life.Searchable(t, d.Request), w.tickets, time.Now(), w.limits)
			why.Bounds = s.matchers.of(t.Configuration).lately.bounds(time.Now())
			return why
		})
	case t.Status == life.TimedOut && d.Request != nil:
		e.Late, err = s.explainTicket(ctx, d, func(w *waiting) *explain.Explanation {
			late, now := life.Searchable(t, d.Request), time.Now()
			late.Created = now.Add(-t.Ended.Sub(t.Started))
			w.limits.Ahead = -1
			return explain.Ticket(w.rules, w.options, late, w.tickets, now, w.limits)
		})
		if fault.Is(err, fault.NotFound) { // the configuration has been deleted
			err = nil
		}
	}
	return e, err
}

func (s *Service) explainTicket(ctx context.Context, d *Described, f func(*waiting) *explain.Explanation) (*explain.Explanation, error) {
	return s.explains.tickets.get(ctx, store.Key(d.Ticket.Configuration, d.Ticket.ID, string(d.Ticket.Status)), func(ctx context.Context) (e *explain.Explanation, took time.Duration, err error) {
		took, err = s.explain(ctx, d.Ticket.Configuration, func(w *waiting) { e = f(w) })
		return e, took, err
	})
}

// Overview explains why the tickets of a configuration wait. It may be some seconds old if it
// takes long to compute; Overview.At says when it was true. Errors: NotFound, or that of ctx.
func (s *Service) Overview(ctx context.Context, nameOrARN string) (*explain.Overview, error) {
	c := s.Configurations.Get(s.st.View(), nameOrARN)
	if c == nil {
		return nil, fault.Missing("Name: matchmaking configuration %s does not exist", nameOrARN)
	}
	return s.explains.overviews.get(ctx, c.Name, func(ctx context.Context) (v *explain.Overview, took time.Duration, err error) {
		took, err = s.explain(ctx, c.Name, func(w *waiting) {
			v = explain.Pool(w.rules, w.options, w.tickets, time.Now(), w.limits)
			v.Bounds = s.matchers.of(c.Name).lately.bounds(time.Now())
		})
		return v, took, err
	})
}

// aheadTime bounds how long an explanation is played ahead.
const aheadTime = 50 * time.Millisecond

// waiting are the waiting tickets of a configuration.
type waiting struct {
	rules   *ruleset.RuleSet
	options search.Options
	tickets []*search.Ticket // limits.Read adds the data of their players
	limits  explain.Limits
}

// explain calls f with the waiting tickets of a configuration, and returns how long that took. For
// each configuration only one f runs at a time, so that explanations of large pools do not slow
// down matchmaking. f ends early once ctx has ended; the error is then that of ctx.
func (s *Service) explain(ctx context.Context, configuration string, f func(*waiting)) (took time.Duration, err error) {
	leave, err := s.explains.gates.enter(ctx, configuration)
	if err != nil {
		return 0, err
	}
	defer leave()
	begin, view := time.Now(), s.st.View()
	c := s.Configurations.Get(view, configuration)
	if c == nil {
		return 0, fault.Missing("Name: matchmaking configuration %s does not exist", configuration)
	}
	w := &waiting{options: search.Options{AdditionalPlayerCount: c.kept()}}
	if w.rules, err = s.RuleSets.of(view, c); err != nil {
		return 0, err
	}
	for _, t := range s.t.waiting.Prefix(view, store.Key(c.Name)) {
		w.tickets = append(w.tickets, life.Outline(t))
	}
	w.limits.Clock, w.limits.Time = time.Now, aheadTime
	w.limits.Stop = func() bool { return ctx.Err() != nil }
	w.limits.Read = func(t *search.Ticket) {
		if of, r := s.t.tickets.Get(view, t.ID), s.t.requests.Get(view, t.ID); of != nil && r != nil {
			life.Fill(t, of, r)
		}
	}
	f(w)
	return time.Since(begin), ctx.Err()
}

// gates let one caller at a time do something for each name.
type gates struct {
	mu sync.Mutex
	m  map[string]*gate
}

type gate struct {
	token   chan struct{}
	callers int // inside and waiting
}

// enter waits until nobody else is inside for a name. The caller must call leave. The error is
// that of ctx, if it ends first.
func (g *gates) enter(ctx context.Context, name string) (leave func(), err error) {
	g.mu.Lock()
	if g.m == nil {
		g.m = map[string]*gate{}
	}
	at := g.m[name]
	if at == nil {
		at = &gate{token: make(chan struct{}, 1)}
		g.m[name] = at
	}
	at.callers++
	g.mu.Unlock()
	away := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if at.callers--; at.callers == 0 {
			delete(g.m, name)
		}
	}
	select {
	case at.token <- struct{}{}:
		return func() { <-at.token; away() }, nil
	case <-ctx.Done():
		away()
		return nil, ctx.Err()
	}
}
