package backend

import (
	"context"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// Parameters of the watcher.
const (
	readAtOnce = 1000 // events
	breath     = 20 * time.Millisecond
)

// Run follows the progress of tickets and placements until ctx ends: by events, and by
// the reconciler, which has much to read and must not delay events.
func (b *Backend) Run(ctx context.Context) {
	changed, stop := b.opts.Events.Watch()
	defer stop()
	cursor := b.opts.Events.Last(b.st.View()) // earlier events are covered by the reconciler's first round
	var reconciler sync.WaitGroup
	reconciler.Go(func() { b.runReconciler(ctx) })
	defer reconciler.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			if err := b.follow(ctx, &cursor); err != nil && ctx.Err() == nil {
				b.log.Error("events not read; tickets are looked at without them", "error", err)
			}
			pause(ctx, breath)
		}
	}
}

// pause lets events accumulate, so that one read returns many.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// follow reads events and looks at the rows they are about.
func (b *Backend) follow(ctx context.Context, cursor *uint64) error {
	for {
		last := b.opts.Events.Last(b.st.View())
		page, err := b.opts.Events.Read(ctx, event.Query{Notices: true, After: max(*cursor, 1), Limit: readAtOnce})
		if err != nil {
			return err
		}
		for _, e := range page {
			last = max(last, e.Seq)
		}
		full := len(page) == readAtOnce
		if full {
			last = page[len(page)-1].Seq
		}
		b.lookAt(ctx, page)
		*cursor = last
		if !full {
			return nil
		}
	}
}

// about is what an event's payload refers to.
type about struct {
	PlacementID string `json:"placementId"`
	Tickets     []struct {
		ID string `json:"ticketId"`
	} `json:"tickets"`
}

// lookAt looks at each open ticket and placement that the events are about, once.
func (b *Backend) lookAt(ctx context.Context, page []event.Entry) {
	view := b.st.View()
	tickets, placings := map[string]*Ticket{}, map[string]*Placing{}
	for _, e := range page {
		var a about
		if json.Unmarshal(e.Value.Notice.Detail, &a) != nil {
			continue
		}
		if e.Value.Notice.DetailType == placement.DetailType {
			if p := b.t.placings.Get(view, a.PlacementID); p != nil {
				placings[p.ID] = p
			}
		}
		for _, of := range a.Tickets {
			if t := b.t.tickets.Get(view, of.ID); t != nil {
				tickets[t.ID] = t
			}
		}
	}
	b.observe(ctx, values(tickets), values(placings))
}

func values[V any](m map[string]*V) []*V {
	all := make([]*V, 0, len(m))
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

// observe updates rows to the current state, and returns how many had changed.
func (b *Backend) observe(ctx context.Context, tickets []*Ticket, placings []*Placing) (changed int) {
	var seen []observation
	for _, t := range tickets {
		if o, differs := b.see(ctx, t); differs {
			seen = append(seen, o)
		}
	}
	var placed []placingSeen
	for _, p := range placings {
		if o, differs := b.seePlacement(ctx, p); differs {
			placed = append(placed, o)
		}
	}
	if len(seen) > 0 {
		b.written(ctx, func() error { _, err := b.cmd.observe.Do(ctx, seen); return err })
	}
	if len(placed) > 0 {
		b.written(ctx, func() error { _, err := b.cmd.seePlacing.Do(ctx, placed); return err })
	}
	return len(seen) + len(placed)
}

func (b *Backend) written(ctx context.Context, write func() error) {
	if err := write(); err != nil && ctx.Err() == nil {
		b.log.Error("players not told what became of tickets; will look again", "error", err)
	}
}

// see returns what the matchmaker reports of a ticket. One that it does not know, a while
// after it was requested, was lost between our row and its own.
func (b *Backend) see(ctx context.Context, t *Ticket) (o observation, differs bool) {
	if over(t.Found.State) {
		return o, false
	}
	found, err := b.ask(ctx, t.ID)
	if err != nil {
		if ctx.Err() == nil {
			b.log.Error("ticket not looked at", "ticket_id", t.ID, "error", err)
		}
		return o, false
	}
	if found == nil {
		if time.Since(t.Created) < lostAfter {
			return o, false
		}
		lost := t.Found
		lost.State, lost.Reason = protocol.TicketStateFailed, "Lost"
		found = &lost
	}
	found.Estimate = b.matching.Estimate(t.Configuration)
	return observation{t.ID, *found}, !found.equal(&t.Found)
}

// ask returns what the matchmaker reports of a ticket; nil if it does not know it.
func (b *Backend) ask(ctx context.Context, ticketID string) (*Found, error) {
	if found := b.matching.Look(b.st.View(), ticketID); found != nil {
		return found, nil
	}
	return b.matching.Ended(ctx, ticketID)
}

// look updates one ticket to the current state and returns it.
func (b *Backend) look(ctx context.Context, t *Ticket) *Ticket {
	b.observe(ctx, []*Ticket{t}, nil)
	if now := b.t.tickets.Get(b.st.View(), t.ID); now != nil {
		return now
	}
	return t
}
