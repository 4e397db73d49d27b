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

// Explain explains the state of a ticket. Errors: NotFound.
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
		err = s.explain(ctx, t.Configuration, func(rs *ruleset.RuleSet, o search.Options, waiting []*search.Ticket) {
			e.Waiting = explain.Ticket(rs, o, life.Searchable(t, d.Request), waiting, time.Now(), explain.Limits{})
			e.Waiting.Bounds = s.matchers.of(t.Configuration).lately.bounds(time.Now())
		})
	case t.Status == life.TimedOut && d.Request != nil:
		err = s.explain(ctx, t.Configuration, func(rs *ruleset.RuleSet, o search.Options, waiting []*search.Ticket) {
			late, now := life.Searchable(t, d.Request), time.Now()
			late.Created = now.Add(-t.Ended.Sub(t.Started))
			e.Late = explain.Ticket(rs, o, late, waiting, now, explain.Limits{Ahead: -1})
		})
		if fault.Is(err, fault.NotFound) { // the configuration has been deleted
			err = nil
		}
	}
	return e, err
}

// Overview explains why the tickets of a configuration wait. Errors: NotFound.
func (s *Service) Overview(ctx context.Context, nameOrARN string) (v *explain.Overview, err error) {
	err = s.explain(ctx, nameOrARN, func(rs *ruleset.RuleSet, o search.Options, waiting []*search.Ticket) {
		v = explain.Pool(rs, o, waiting, time.Now(), explain.Limits{})
	})
	if c := s.Configurations.Get(s.st.View(), nameOrARN); c != nil && err == nil {
		v.Bounds = s.matchers.of(c.Name).lately.bounds(time.Now())
	}
	return v, err
}

// explain calls f with the waiting tickets of a configuration. For each configuration only one f
// runs at a time, so that explanations of large pools do not slow down matchmaking.
func (s *Service) explain(ctx context.Context, nameOrARN string, f func(*ruleset.RuleSet, search.Options, []*search.Ticket)) error {
	c := s.Configurations.Get(s.st.View(), nameOrARN)
	if c == nil {
		return fault.Missing("Name: matchmaking configuration %s does not exist", nameOrARN)
	}
	leave, err := s.explains.enter(ctx, c.Name)
	if err != nil {
		return err
	}
	defer leave()
	view := s.st.View() // of now, after the wait
	if c = s.Configurations.Get(view, nameOrARN); c == nil {
		return fault.Missing("Name: matchmaking configuration %s does not exist", nameOrARN)
	}
	rs, err := s.RuleSets.of(view, c)
	if err != nil {
		return err
	}
	var waiting []*search.Ticket
	for _, t := range s.t.waiting.Prefix(view, store.Key(c.Name)) {
		waiting = append(waiting, life.Searchable(t, s.t.requests.Get(view, t.ID)))
	}
	f(rs, search.Options{AdditionalPlayerCount: c.kept()}, waiting)
	return nil
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
