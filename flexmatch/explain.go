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
	e := &Explanation{Ticket: d.Ticket}
	if !d.Ticket.Status.Waits() {
		return e, nil
	}
	free, err := s.explaining(ctx)
	if err != nil {
		return nil, err
	}
	defer free()
	pool, err := s.pool(s.st.View(), d.Ticket.Configuration)
	if err != nil {
		return nil, err
	}
	e.Waiting = explain.Ticket(pool.rules, pool.options, life.Searchable(d.Ticket, d.Request), pool.tickets, time.Now(), explain.Limits{})
	return e, nil
}

// Overview explains why the tickets of a configuration wait. Errors: NotFound.
func (s *Service) Overview(ctx context.Context, nameOrARN string) (*explain.Overview, error) {
	view := s.st.View()
	c := s.Configurations.Get(view, nameOrARN)
	if c == nil {
		return nil, fault.Missing("Name: matchmaking configuration %s does not exist", nameOrARN)
	}
	free, err := s.explaining(ctx)
	if err != nil {
		return nil, err
	}
	defer free()
	pool, err := s.pool(view, c.Name)
	if err != nil {
		return nil, err
	}
	return explain.Pool(pool.rules, pool.options, pool.tickets, time.Now(), explain.Limits{}), nil
}

// explaining waits until no other explanation is being computed. Only one runs at a time,
// so that explanations of large pools do not slow down matchmaking.
func (s *Service) explaining(ctx context.Context) (free func(), err error) {
	select {
	case s.explains <- struct{}{}:
		return func() { <-s.explains }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// waitingPool is the waiting tickets of a configuration, in the form that the search
// uses.
type waitingPool struct {
	rules   *ruleset.RuleSet
	options search.Options
	tickets []*search.Ticket
}

func (s *Service) pool(view *store.Snapshot, configuration string) (*waitingPool, error) {
	c := s.t.configurations.Get(view, configuration)
	if c == nil {
		return nil, fault.Missing("Name: matchmaking configuration %s does not exist", configuration)
	}
	rs, err := s.RuleSets.of(view, c)
	if err != nil {
		return nil, err
	}
	p := &waitingPool{rules: rs, options: search.Options{AdditionalPlayerCount: c.kept()}}
	for _, t := range s.t.waiting.Prefix(view, store.Key(c.Name)) {
		p.tickets = append(p.tickets, life.Searchable(t, s.t.requests.Get(view, t.ID)))
	}
	return p, nil
}
