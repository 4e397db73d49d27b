package flexmatch

import (
	"context"

	"github.com/musterhq/muster/internal/store"
)

// Described is a ticket and its request.
type Described struct {
	Ticket  *Ticket
	Request *Request
}

// Get returns a ticket that is active or ended within Retention, or nil.
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

// Live returns a ticket in memory, active or ended within Options.Linger, as of r, or
// nil.
func (s *Service) Live(r store.Reader, id string) *Ticket { return s.t.tickets.Get(r, id) }

// archived returns a ticket from the archive, or nil.
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
