package flexmatch

import (
	"context"

	"github.com/musterhq/muster/internal/store"
)

// Described is a ticket and what its players brought.
type Described struct {
	Ticket  *Ticket
	Request *Request
}

// Get gives a ticket, running or ended within the retention; nil where there is none.
func (s *Service) Get(ctx context.Context, id string) (*Described, error) {
	view := s.st.View()
	if t := s.t.tickets.Get(view, id); t != nil {
		return &Described{t, s.t.requests.Get(view, id)}, nil
	}
	t, r, err := s.archived(ctx, id)
	if err != nil || t == nil {
		return nil, err
	}
	return &Described{t, r}, nil
}

// Live gives a ticket that runs or ended within the last minutes, as r shows it;
// nil where there is none.
func (s *Service) Live(r store.Reader, id string) *Ticket { return s.t.tickets.Get(r, id) }

// archived gives a ticket that has left memory, or nil.
func (s *Service) archived(ctx context.Context, id string) (*Ticket, *Request, error) {
	byID := store.Query{Where: []store.Eq{{Column: "key", Value: id}}, Limit: 1}
	tickets, err := s.t.tickets.Archived(ctx, byID)
	if err != nil || len(tickets) == 0 {
		return nil, nil, err
	}
	requests, err := s.t.requests.Archived(ctx, byID)
	if err != nil || len(requests) == 0 {
		return nil, nil, err
	}
	return tickets[0], requests[0], nil
}
