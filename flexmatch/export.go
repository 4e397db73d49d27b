package flexmatch

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/flexmatch/trace"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

type traced struct {
	trace.Ticket
	started time.Time
}

// MaxTraced is the most tickets in a trace.
const MaxTraced = 200_000

// Trace returns the tickets of a configuration started since a time, oldest first: those
// in memory and, for Retention, those that ended. Backfill tickets are left out, because
// a replay of the trace plays the game sessions too. Of more than most tickets, which is
// at most MaxTraced, Trace returns the oldest. Errors: NotFound.
func (s *Service) Trace(ctx context.Context, nameOrARN string, since time.Time, most int) ([]trace.Ticket, error) {
	return s.trace(ctx, nameOrARN, since, min(most, MaxTraced))
}

func (s *Service) trace(ctx context.Context, nameOrARN string, since time.Time, most int) ([]trace.Ticket, error) {
	view := s.st.View() // taken before the archive is read, so that a ticket archived in between is in at least one of them
	c := s.Configurations.Get(view, nameOrARN)
	if c == nil {
		return nil, fault.Missing("Name: matchmaking configuration %s does not exist", nameOrARN)
	}
	out, err := s.archivedTraces(ctx, c.Name, since, most)
	if err != nil {
		return nil, err
	}
	cut := len(out) == most
	known := make(map[string]bool, len(out))
	for i := range out {
		known[out[i].TicketID] = true
	}
	for t := range s.t.tickets.All(view) {
		if t.Configuration != c.Name || t.Backfill || t.Started.Before(since) || known[t.ID] ||
			cut && t.Started.After(out[most-1].started) { // after the end of the trace
			continue
		}
		if r := s.t.requests.Get(view, t.ID); r != nil {
			out = append(out, tracedOf(t, r))
		}
	}
	slices.SortStableFunc(out, func(a, b traced) int {
		return cmp.Or(a.started.Compare(b.started), cmp.Compare(a.TicketID, b.TicketID))
	})
	out = out[:min(len(out), most)]
	tickets := make([]trace.Ticket, len(out))
	for i := range out {
		tickets[i] = out[i].Ticket
		tickets[i].At = out[i].started.Sub(out[0].started).Seconds()
	}
	return tickets, nil
}

// archivedTraces returns up to most of a configuration's tickets in the archive, oldest
// first.
func (s *Service) archivedTraces(ctx context.Context, configuration string, since time.Time, most int) ([]traced, error) {
	prefix := tracePrefix(configuration)
	page := store.Query{OrderBy: traceColumn, From: prefix + store.TimeKey(since), To: prefix + "~", Limit: 1000}
	var out []traced
	for {
		tickets, err := s.t.tickets.Archived(ctx, page)
		if err != nil {
			return nil, err
		}
		requests, err := s.archivedRequests(ctx, tickets)
		if err != nil {
			return nil, err
		}
		for _, t := range tickets {
			r := requests[t.ID]
			if r == nil { // expired between the two reads
				continue
			}
			if out = append(out, tracedOf(t, r)); len(out) == most {
				return out, nil
			}
		}
		if len(tickets) < page.Limit {
			return out, nil
		}
		last := tickets[len(tickets)-1]
		page.AfterOrder, page.AfterKey = traceKey(last), last.ID
	}
}

// archivedRequests returns the requests of a page of tickets, by id.
func (s *Service) archivedRequests(ctx context.Context, tickets []*Ticket) (map[string]*Request, error) {
	out := make(map[string]*Request, len(tickets))
	if len(tickets) == 0 {
		return out, nil
	}
	ids := make([]string, len(tickets))
	for i, t := range tickets {
		ids[i] = t.ID
	}
	rows, err := s.t.requests.Archived(ctx, store.Query{Keys: ids, Limit: len(ids)})
	for _, r := range rows {
		out[r.ID] = r
	}
	return out, err
}

func tracedOf(t *Ticket, r *Request) traced {
	out := traced{Ticket: trace.Ticket{TicketID: t.ID}, started: t.Started}
	if t.Status == life.Cancelled && t.Message == life.StoppedMessage {
		out.Patience = max(t.Ended.Sub(t.Started), time.Millisecond).Seconds() // 0 would mean unlimited
	}
	for _, p := range r.Players {
		out.Players = append(out.Players, tracedPlayer(p))
	}
	return out
}

func tracedPlayer(p Player) trace.Player {
	out := trace.Player{PlayerID: p.ID}
	for name, a := range p.Attributes {
		if out.Attributes == nil {
			out.Attributes = map[string]trace.Attribute{}
		}
		out.Attributes[name] = trace.Attribute(a)
	}
	for location, ms := range p.Latency {
		if out.Latency == nil {
			out.Latency = map[string]float64{}
		}
		out.Latency[location] = float64(ms)
	}
	return out
}
