package flexmatch

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// Traced is a ticket as simulations read one (docs/simulation.md, traces).
type Traced struct {
	At       float64        `json:"at"` // seconds from the first ticket of the trace
	TicketID string         `json:"TicketId"`
	Players  []TracedPlayer `json:"Players"`
	Patience float64        `json:"patience_seconds,omitzero"` // after which it was cancelled by request

	started time.Time
}

// TracedPlayer is a player as StartMatchmaking has it.
type TracedPlayer struct {
	PlayerID   string                     `json:"PlayerId"`
	Attributes map[string]TracedAttribute `json:"PlayerAttributes,omitempty"`
	Latency    map[string]int             `json:"LatencyInMs,omitempty"`
}

// TracedAttribute is an attribute value under its name in the API.
type TracedAttribute struct {
	S   *string            `json:"S,omitempty"`
	N   *float64           `json:"N,omitempty"`
	SL  []string           `json:"SL,omitempty"`
	SDM map[string]float64 `json:"SDM,omitempty"`
}

// MaxTraced bounds the tickets of one trace.
const MaxTraced = 200_000

// Trace gives the tickets of a configuration that came since a time, oldest
// first: those in memory and, for Retention, those that ended. Tickets that fill
// game sessions are left out: who replays the trace plays the game sessions too.
// Of more than MaxTraced the oldest are given. Errors: NotFound.
func (s *Service) Trace(ctx context.Context, nameOrARN string, since time.Time) ([]Traced, error) {
	view := s.st.View()
	c := s.Configuration(view, nameOrARN)
	if c == nil {
		return nil, fault.Missing("Name: matchmaking configuration %s does not exist", nameOrARN)
	}
	var out []Traced
	known := map[string]bool{}
	add := func(t *Ticket, r *Request) {
		if t.Configuration == c.Name && !t.Backfill && !t.Started.Before(since) && r != nil && !known[t.ID] {
			known[t.ID] = true
			out = append(out, traced(t, r))
		}
	}
	if err := s.eachArchived(ctx, since, add); err != nil {
		return nil, err
	}
	for t := range s.t.tickets.All(view) {
		add(t, s.t.requests.Get(view, t.ID))
	}
	slices.SortStableFunc(out, func(a, b Traced) int {
		return cmp.Or(a.started.Compare(b.started), cmp.Compare(a.TicketID, b.TicketID))
	})
	out = out[:min(len(out), MaxTraced)]
	for i := range out {
		out[i].At = out[i].started.Sub(out[0].started).Seconds()
	}
	return out, nil
}

// eachArchived visits the tickets that have left memory, oldest first.
func (s *Service) eachArchived(ctx context.Context, since time.Time, visit func(*Ticket, *Request)) error {
	page := store.Query{OrderBy: "started", From: store.TimeKey(since), Limit: 1000}
	for seen := 0; seen < MaxTraced; {
		tickets, err := s.t.tickets.Archived(ctx, page)
		if err != nil {
			return err
		}
		for _, t := range tickets {
			requests, err := s.t.requests.Archived(ctx, store.Query{Where: []store.Eq{{Column: "key", Value: t.ID}}, Limit: 1})
			if err != nil {
				return err
			}
			if len(requests) == 1 {
				visit(t, requests[0])
			}
		}
		if seen += len(tickets); len(tickets) < page.Limit {
			return nil
		}
		last := tickets[len(tickets)-1]
		page.AfterOrder, page.AfterKey = store.TimeKey(last.Started), last.ID
	}
	return nil
}

func traced(t *Ticket, r *Request) Traced {
	out := Traced{TicketID: t.ID, started: t.Started}
	if t.Status == Cancelled && t.Message == stoppedMessage {
		out.Patience = max(t.Ended.Sub(t.Started), time.Millisecond).Seconds() // 0 would be for ever
	}
	for _, p := range r.Players {
		player := TracedPlayer{PlayerID: p.ID, Latency: p.Latency}
		for name, a := range p.Attributes {
			if player.Attributes == nil {
				player.Attributes = map[string]TracedAttribute{}
			}
			player.Attributes[name] = TracedAttribute(a)
		}
		out.Players = append(out.Players, player)
	}
	return out
}
