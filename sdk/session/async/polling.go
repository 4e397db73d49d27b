package async

import (
	"context"

	"github.com/musterhq/muster/sdk/session"
)

// StartPolling follows a ticket and reports its events to the listeners, until the
// last event or StopPolling. For a ticket that is already followed it does nothing.
func (a *Adapter) StartPolling(ticketID string) {
	a.mu.Lock()
	closed := a.closed
	if closed || a.polling[ticketID] != nil {
		a.mu.Unlock()
		if closed {
			a.tell(func(l Listener) { call2(l.MatchError, ticketID, error(ErrClosed)) })
		}
		return
	}
	ctx, cancel := context.WithCancel(a.ctx)
	p := &polling{cancel: cancel, done: make(chan struct{})}
	a.polling[ticketID] = p
	a.calls.Add(1)
	a.mu.Unlock()
	go a.poll(ctx, ticketID, p)
}

// StopPolling stops following a ticket. Once it returns, no event of the ticket is
// handed to Dispatch. It does not cancel the ticket. It must not be called from a
// callback unless Dispatch is set.
func (a *Adapter) StopPolling(ticketID string) {
	a.mu.Lock()
	p := a.polling[ticketID]
	a.mu.Unlock()
	if p != nil {
		p.cancel()
		<-p.done
	}
}

func (a *Adapter) poll(ctx context.Context, ticketID string, p *polling) {
	defer a.calls.Done()
	defer close(p.done)
	defer p.cancel()
	defer a.forget(ticketID)
	for event := range a.tracker.Track(ctx, ticketID) {
		a.tell(func(l Listener) { notify(l, event) })
	}
}

func (a *Adapter) forget(ticketID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.polling, ticketID)
}

func notify(l Listener, e session.TicketEvent) {
	switch e.Kind {
	case session.Progress:
		call1(l.MatchProgress, e.Ticket)
	case session.AcceptanceRequired:
		call1(l.MatchAcceptance, e.Ticket)
	case session.MatchComplete:
		call1(l.MatchComplete, e.Ticket)
	case session.MatchFailed:
		call1(l.MatchFailure, e.Ticket)
	case session.TrackError:
		call2(l.MatchError, e.Ticket.ID, e.Err)
	}
}
