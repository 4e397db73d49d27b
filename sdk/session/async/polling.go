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
			a.tell(func(l Listener) {
				notify(l, session.TicketEvent{Kind: session.TrackError, Ticket: session.Ticket{ID: ticketID}, Err: ErrClosed})
			})
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
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.polling, ticketID)
	}()
	for event := range a.tracker.Track(ctx, ticketID) {
		a.tell(func(l Listener) { notify(l, event) })
	}
}

func notify(l Listener, e session.TicketEvent) {
	var f func(session.Ticket)
	switch e.Kind {
	case session.Progress:
		f = l.MatchProgress
	case session.AcceptanceRequired:
		f = l.MatchAcceptance
	case session.MatchComplete:
		f = l.MatchComplete
	case session.MatchFailed:
		f = l.MatchFailure
	case session.TrackError:
		f = func(t session.Ticket) {
			if l.MatchError != nil {
				l.MatchError(t.ID, e.Err)
			}
		}
	}
	if f != nil {
		f(e.Ticket)
	}
}
