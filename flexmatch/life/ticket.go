package life

import (
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/internal/fault"
)

// Answer is a player's answer to a potential match (AcceptanceType).
type Answer string

// The answers of the API.
const (
	Accept Answer = "ACCEPT"
	Reject Answer = "REJECT"
)

// Ticket is the part of a matchmaking ticket that changes. Its players' data is in
// Request.
type Ticket struct {
	ID            string    `json:"id"`
	Configuration string    `json:"configuration"`
	Status        Status    `json:"status"`
	Reason        string    `json:"reason,omitzero"`
	Message       string    `json:"message,omitzero"`
	Started       time.Time `json:"started"`
	Matched       time.Time `json:"matched,omitzero"` // when it was first in a match
	Ended         time.Time `json:"ended,omitzero"`
	Deadline      time.Time `json:"deadline"` // of the request; applies while the ticket waits
	Arrival       string    `json:"arrival"`  // sorts by time of arrival
	Members       []Member  `json:"members"`
	MatchID       string    `json:"match_id,omitzero"` // the latest match it was in
	Unplaced      int       `json:"unplaced,omitzero"` // how many of its matches found no place before the queue's timeout

	// Set for a backfill ticket.
	Backfill      bool   `json:"backfill,omitzero"`
	Automatic     bool   `json:"automatic,omitzero"`
	GameSessionID string `json:"game_session_id,omitzero"` // also of a COMPLETED ticket
	Most          int    `json:"most,omitzero"`            // players whom a match may have by the slots of its game session; 0 means no limit

	PlaysIn  []string `json:"plays_in,omitzero"` // of another ticket: game sessions that it does not join, because a player is in them
	Revision int      `json:"revision,omitzero"` // counts the changes of Most, PlaysIn and Member.Away

	// Set when COMPLETED: how to reach the game session.
	IPAddress string `json:"ip_address,omitzero"`
	DNSName   string `json:"dns_name,omitzero"`
	Port      int    `json:"port,omitzero"`

	Rules     []search.RuleCount `json:"rules,omitzero"` // of the searches around it, once it has ended
	ArchiveAt time.Time          `json:"archive_at,omitzero"`
}

// Member is the part of a ticket's player that matchmaking changes.
type Member struct {
	PlayerID        string `json:"p"`
	Team            string `json:"t,omitzero"`
	Answer          Answer `json:"a,omitzero"`
	PlayerSessionID string `json:"s,omitzero"`
	Away            bool   `json:"x,omitzero"` // of a backfill: the player is not in the game session any more, and does not count
}

// Start makes a new ticket QUEUED.
func (t *Ticket) Start() { Moves.Move(&t.Status, Queued, t.ID) }

// CannotStop returns why a ticket cannot be stopped, or nil.
func (t *Ticket) CannotStop() error {
	if !t.Status.stops() {
		return fault.Invalid("Matchmaking ticket is in %s status and cannot be canceled.", t.Status)
	}
	return nil
}

// CannotAnswer returns why the players of a ticket cannot answer, or nil.
func (t *Ticket) CannotAnswer() error {
	switch {
	case t.Status != RequiresAcceptance:
		return fault.Invalid("TicketId: matchmaking ticket %s is in %s status; it must be REQUIRES_ACCEPTANCE", t.ID, t.Status)
	case t.Backfill:
		return fault.Invalid("TicketId: %s is a backfill ticket; only new players are asked", t.ID)
	}
	return nil
}

// Due returns the next time at which the ticket must be timed out or archived, or zero.
func (t *Ticket) Due() time.Time {
	switch {
	case t.Status.Over():
		return t.ArchiveAt
	case t.Status.Waits():
		return t.Deadline
	}
	return time.Time{}
}

// accepted reports whether every player of the ticket accepted. Those of a backfill are
// not asked.
func (t *Ticket) accepted() bool {
	return t.Backfill || !slices.ContainsFunc(t.Members, func(m Member) bool { return m.Answer != Accept })
}

// rejected reports whether a player of the ticket rejected its match.
func (t *Ticket) rejected() bool {
	return slices.ContainsFunc(t.Members, func(m Member) bool { return m.Answer == Reject })
}

// Clone returns a copy to modify.
func (t *Ticket) Clone() *Ticket {
	c := *t
	c.Members = slices.Clone(t.Members)
	return &c
}

// leave clears the data of a dissolved match. A backfill keeps its teams, which come from
// its request.
func (t *Ticket) leave() {
	for i := range t.Members {
		m := &t.Members[i]
		if m.Answer, m.PlayerSessionID = "", ""; !t.Backfill {
			m.Team = ""
		}
	}
}

// player returns the member with a player id, or nil.
func (t *Ticket) player(id string) *Member {
	i := slices.IndexFunc(t.Members, func(m Member) bool { return m.PlayerID == id })
	if i < 0 {
		return nil
	}
	return &t.Members[i]
}
