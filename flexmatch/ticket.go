package flexmatch

import (
	"context"
	"iter"

	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tracing"
)

// What doors use of package life.
type (
	Ticket    = life.Ticket
	Request   = life.Request
	Player    = life.Player
	Attribute = life.Attribute
	Answer    = life.Answer
	RuleCount = search.RuleCount
	Status    = life.Status
	Match     = life.Match
)

// States of tickets and answers of players that doors use.
const (
	RequiresAcceptance = life.RequiresAcceptance
	Completed          = life.Completed
	Accept             = life.Accept
	Reject             = life.Reject
)

type tickets struct {
	t         *tables
	metrics   *metrics
	tracer    *tracing.Tracer
	changed   []func(*store.Tx, *Ticket)
	committed func(configuration, id string) // called once a change of a ticket is durable
	roster    *roster
}

// get returns tickets, each nil if there is none.
func (s *tickets) get(r store.Reader, ids []string) []*Ticket {
	out := make([]*Ticket, len(ids))
	for i, id := range ids {
		out[i] = s.t.tickets.Get(r, id)
	}
	return out
}

func (s *tickets) put(tx *store.Tx, t *Ticket) {
	s.t.tickets.Put(tx, t)
	for _, f := range s.changed {
		f(tx, t)
	}
	configuration, id := t.Configuration, t.ID
	tx.OnCommit(func() { s.committed(configuration, id) })
}

func (s *tickets) open(tx *store.Tx, c *Configuration, in StartInput, automatic bool) *Ticket {
	id := in.TicketID
	if id == "" {
		id = tx.ID("")
	}
	t := &Ticket{
		ID: id, Configuration: c.Name, Started: tx.Now(), Deadline: tx.Now().Add(c.RequestTimeout), Arrival: tx.ID(""),
		Backfill: in.Backfill, Automatic: automatic, GameSessionID: in.GameSessionID, Members: make([]life.Member, len(in.Players)),
	}
	for i := range in.Players {
		t.Members[i].PlayerID = in.Players[i].ID
		if in.Backfill {
			t.Members[i].Team = in.Players[i].Team
		}
	}
	t.Start()
	s.roster.regard(tx, t)
	s.t.requests.Put(tx, &Request{ID: id, Players: in.Players})
	s.put(tx, t)
	tx.OnCommit(func() { s.metrics.count("TicketsStarted", t.Configuration, 1) })
	if within := tx.Span(); within.IsValid() {
		tx.OnCommit(func() { s.tracer.Begin(spanOf(id), within) })
	}
	return t
}

// players returns the players of tickets with their teams, in the order of tickets. Those of a
// backfill who do not count are left out.
func (s *tickets) players(r store.Reader, tickets []*Ticket) []Player {
	var out []Player
	for _, t := range tickets {
		for i, p := range s.t.requests.Get(r, t.ID).Players {
			if p.Team = t.Members[i].Team; !t.Members[i].Away {
				out = append(out, p)
			}
		}
	}
	return out
}

func (s *tickets) archived(ctx context.Context, id string) (*Described, error) {
	byID := store.Query{Where: []store.Eq{{Column: "key", Value: id}}, Limit: 1}
	tickets, err := s.t.tickets.Archived(ctx, byID)
	if err != nil || len(tickets) == 0 {
		return nil, err
	}
	requests, err := s.t.requests.Archived(ctx, byID)
	if err != nil || len(requests) == 0 {
		return nil, err
	}
	return &Described{tickets[0], requests[0]}, nil
}

// Described is a ticket and its request.
type Described struct {
	Ticket  *Ticket
	Request *Request
}

// Get returns a ticket that is active or ended within Retention, with the current address of its
// game session, or nil.
func (s *Service) Get(ctx context.Context, id string) (*Described, error) {
	view := s.st.View()
	if t := s.t.tickets.Get(view, id); t != nil {
		return &Described{s.located(view, t), s.t.requests.Get(view, id)}, nil
	}
	d, err := s.tickets.archived(ctx, id)
	if d != nil {
		d.Ticket = s.located(view, d.Ticket)
	}
	return d, err
}

// located returns a ticket that has an address with the current one of its game session, if that
// is one of this deployment and in memory: its machine may have come back with another address.
func (s *Service) located(r store.Reader, t *Ticket) *Ticket {
	if t.Port == 0 {
		return t
	}
	g := s.lives.sessions.Live(r, t.GameSessionID)
	if g == nil {
		return t
	}
	at := t.Clone()
	at.IPAddress, at.DNSName, at.Port = g.IPAddress, g.DNSName, g.Port
	return at
}

// Live returns a ticket in memory, active or ended within Options.Linger, as of r, or
// nil.
func (s *Service) Live(r store.Reader, id string) *Ticket { return s.t.tickets.Get(r, id) }

// RequestOf returns the request of a ticket in memory as of r, or nil.
func (s *Service) RequestOf(r store.Reader, id string) *Request { return s.t.requests.Get(r, id) }

// Active returns the number of tickets of a configuration that have not ended
// (CurrentTickets).
func (s *Service) Active(r store.Reader, configuration string) int {
	return s.t.active.Count(r, configuration)
}

// OnChanged registers f to be called in each transaction that creates or changes a ticket,
// once its row is written. It must be called before the store is opened.
func (s *Service) OnChanged(f func(*store.Tx, *Ticket)) {
	s.tickets.changed = append(s.tickets.changed, f)
}

// Open yields the tickets of a configuration that have not ended.
func (s *Service) Open(r store.Reader, configuration string) iter.Seq[*Ticket] {
	return s.t.active.Equal(r, configuration)
}

// OfPlayer yields the tickets of a player that have not ended, without automatic backfill.
func (s *Service) OfPlayer(r store.Reader, playerID string) iter.Seq[*Ticket] {
	return s.t.byPlayer.Equal(r, playerID)
}

// Match returns a proposed match, open or ended within Retention, or nil.
func (s *Service) Match(ctx context.Context, id string) (*Match, error) {
	if m := s.t.matches.Get(s.st.View(), id); m != nil {
		return m, nil
	}
	found, err := s.t.matches.Archived(ctx, store.Query{Where: []store.Eq{{Column: "key", Value: id}}, Limit: 1})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}
