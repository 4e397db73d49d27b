package flexmatch

import (
	"context"
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
	return v, err
}

// explain calls f with the waiting tickets of a configuration. Only one f runs at a time,
// so that explanations of large pools do not slow down matchmaking.
func (s *Service) explain(ctx context.Context, nameOrARN string, f func(*ruleset.RuleSet, search.Options, []*search.Ticket)) error {
	select {
	case s.explains <- struct{}{}:
		defer func() { <-s.explains }()
	case <-ctx.Done():
		return ctx.Err()
	}
	view := s.st.View()
	c := s.Configurations.Get(view, nameOrARN)
	if c == nil {
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
