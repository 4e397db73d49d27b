package session

import (
	"context"
	"iter"
)

// EventKind is what a TicketEvent is about.
type EventKind int

// The kinds of TicketEvent.
const (
	Progress           EventKind = iota // the state changed, and nothing else is to be done
	AcceptanceRequired                  // a match is proposed: AcceptMatch is asked for
	MatchComplete                       // the last event: Ticket.Connections tells where to go
	MatchFailed                         // the last event: the ticket was cancelled, timed out or failed
	TrackError                          // the ticket could not be read; reading goes on unless Err is ErrNotFound
)

// String names the kind.
func (k EventKind) String() string {
	switch k {
	case Progress:
		return "progress"
	case AcceptanceRequired:
		return "acceptance required"
	case MatchComplete:
		return "match complete"
	case MatchFailed:
		return "match failed"
	}
	return "track error"
}

// TicketEvent is a change of a ticket (in O3DE MatchmakingNotifications). Ticket
// is set but for TrackError, where its ID alone is.
type TicketEvent struct {
	Kind   EventKind
	Ticket Ticket
	Err    error // of TrackError only
}

// Last tells whether nothing follows about the ticket.
func (e TicketEvent) Last() bool {
	return e.Kind == MatchComplete || e.Kind == MatchFailed || (e.Kind == TrackError && isNotFound(e.Err))
}

// Tracker follows tickets.
type Tracker interface {
	// Track gives an event when a ticket's state is first seen and each time it has
	// changed; AcceptanceRequired comes once for each proposal that is seen. It ends
	// after the last event of each ticket, or with ctx, then without an event. A
	// ticket that is not found three times in a row gives a TrackError of
	// ErrNotFound, its last event.
	Track(ctx context.Context, ticketIDs ...string) iter.Seq[TicketEvent]
}

// Observed gives the event that a ticket's new state is to its player, for those
// who write a Tracker.
func Observed(t Ticket) TicketEvent {
	kind := Progress
	switch t.State {
	case Completed:
		kind = MatchComplete
	case Failed, Cancelled, TimedOut:
		kind = MatchFailed
	case RequiresAcceptance:
		kind = AcceptanceRequired
	}
	return TicketEvent{Kind: kind, Ticket: t}
}
