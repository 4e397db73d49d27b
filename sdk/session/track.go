package session

import (
	"context"
	"errors"
	"iter"
)

// EventKind is the kind of a TicketEvent.
type EventKind int

// The kinds of TicketEvent.
const (
	Progress           EventKind = iota // the state changed; no action is needed
	AcceptanceRequired                  // a match is proposed: call AcceptMatch
	MatchComplete                       // the last event: connect with Ticket.Connections
	MatchFailed                         // the last event: the ticket was cancelled, timed out or failed
	TrackError                          // the ticket could not be read; tracking continues unless Err is ErrNotFound
)

// String returns the name of the kind.
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

// TicketEvent is a change of a ticket (in O3DE MatchmakingNotifications). Ticket is set;
// for TrackError, only its ID is.
type TicketEvent struct {
	Kind   EventKind
	Ticket Ticket
	Err    error // for TrackError only
}

// Last reports whether this is the ticket's last event.
func (e TicketEvent) Last() bool {
	return e.Kind == MatchComplete || e.Kind == MatchFailed || (e.Kind == TrackError && errors.Is(e.Err, ErrNotFound))
}

// Tracker follows tickets.
type Tracker interface {
	// Track yields an event when a ticket's state is first seen and each time it has
	// changed; AcceptanceRequired comes once for each proposal that is seen. It ends
	// after the last event of each ticket, or when ctx ends, then without an event. If a
	// ticket is not found three times in a row, its last event is a TrackError with
	// ErrNotFound.
	Track(ctx context.Context, ticketIDs ...string) iter.Seq[TicketEvent]
}

// Observed returns the event that reports a ticket's new state, for implementations of
// Tracker.
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
