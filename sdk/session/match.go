package session

import (
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"time"
)

// Player is a player of a matchmaking ticket (API reference, Player).
type Player struct {
	ID         string               // 1 to 128 of a-z A-Z 0-9 - and .
	Team       string               // backfill only; a new match assigns teams itself
	Attributes map[string]Attribute // at most 10
	// Latency is the round-trip time to each location or region. It is sent in whole
	// milliseconds, as Milliseconds converts it.
	Latency map[string]time.Duration
}

// Milliseconds converts a latency to the whole milliseconds that are sent: rounded up, at
// least 1.
func Milliseconds(d time.Duration) int32 {
	ms := (d + time.Millisecond - 1) / time.Millisecond
	return int32(min(max(ms, 1), 1<<31-1))
}

// MatchRequest requests a match (API reference, StartMatchmaking).
type MatchRequest struct {
	Configuration string // name or ARN of a matchmaking configuration
	// TicketID names the ticket: at most 128 of a-z A-Z 0-9 - and . ; "" generates a
	// UUID.
	TicketID string
	Players  []Player // the players to be matched together, at least one
}

// Limits from the API reference, Player and StartMatchmaking.
var ticketID = regexp.MustCompile(`^[a-zA-Z0-9.-]{1,128}$`)

const maxAttributes = 10

// Validate checks what can be checked without calling the service. Errors: ErrInvalid.
func (r MatchRequest) Validate() error {
	switch {
	case r.Configuration == "":
		return invalid("Configuration is required")
	case r.TicketID != "" && !ticketID.MatchString(r.TicketID):
		return invalid("TicketID must have 1 to 128 of a-z, A-Z, 0-9, \"-\" and \".\"")
	case len(r.Players) == 0:
		return invalid("Players: at least one is required")
	}
	for i, p := range r.Players {
		if err := p.validate(); err != nil {
			return fmt.Errorf("member Players[%d]: %w", i, err)
		}
	}
	return nil
}

func (p Player) validate() error {
	if !ticketID.MatchString(p.ID) {
		return invalid("ID must have 1 to 128 of a-z, A-Z, 0-9, \"-\" and \".\"")
	}
	if len(p.Attributes) > maxAttributes {
		return invalid("Attributes has %d entries; at most %d are allowed", len(p.Attributes), maxAttributes)
	}
	for name, a := range p.Attributes {
		if err := a.Validate(); err != nil {
			return fmt.Errorf("attribute %q: %w", name, err)
		}
	}
	for where, d := range p.Latency {
		if d < 0 {
			return invalid("Latency[%q] is %v; it must be at least 0", where, d)
		}
	}
	return nil
}

// TicketState is the state of a ticket, as the API spells it (API reference,
// MatchmakingTicket).
type TicketState string

// The states of a ticket.
const (
	Queued             TicketState = "QUEUED"
	Searching          TicketState = "SEARCHING"
	RequiresAcceptance TicketState = "REQUIRES_ACCEPTANCE"
	Placing            TicketState = "PLACING"
	Completed          TicketState = "COMPLETED"
	Failed             TicketState = "FAILED"
	Cancelled          TicketState = "CANCELLED"
	TimedOut           TicketState = "TIMED_OUT"
)

// Terminal reports whether the state is final.
func (s TicketState) Terminal() bool {
	switch s {
	case Completed, Failed, Cancelled, TimedOut:
		return true
	}
	return false
}

// Ticket is a matchmaking ticket (API reference, MatchmakingTicket).
type Ticket struct {
	ID                string
	ConfigurationName string
	ConfigurationARN  string
	State             TicketState
	StatusReason      string // reason of the last change; often ""
	StatusMessage     string
	EstimatedWait     time.Duration // 0 if the service does not report it
	StartedAt         time.Time
	EndedAt           time.Time // zero until the state is terminal
	Players           []Player
	SessionID         string                // game session ARN, when COMPLETED
	Connections       map[string]Connection // by player id, when COMPLETED
}

// Matchmaking is everything a player does with tickets (in O3DE IMatchmakingRequests).
// Implementations must be safe for concurrent use.
type Matchmaking interface {
	// StartMatchmaking creates a ticket and returns it, QUEUED. Following it is up to a
	// Tracker. Errors: ErrInvalid, ErrNotFound (the configuration), ErrConflict (the
	// ticket id is taken).
	StartMatchmaking(ctx context.Context, r MatchRequest) (Ticket, error)
	// StopMatchmaking cancels a ticket. It returns nil for a ticket that has ended.
	// Errors: ErrNotFound.
	StopMatchmaking(ctx context.Context, ticketID string) error
	// AcceptMatch answers a proposed match for players of the ticket; a rejection ends
	// the proposal for everyone. Errors: ErrInvalid (also if no proposal awaits an
	// answer), ErrNotFound.
	AcceptMatch(ctx context.Context, ticketID string, accept bool, playerIDs ...string) error
	// DescribeTickets returns tickets in no particular order. Unknown ids are left out.
	DescribeTickets(ctx context.Context, ticketIDs ...string) ([]Ticket, error)
}

// NewPlayerID returns a random id for a player: a version 4 UUID in lower case with
// dashes (in O3DE CreatePlayerId).
func NewPlayerID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
