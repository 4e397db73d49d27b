package flexmatch

import "time"

// Match is a set of tickets that play together, from the pass that found it until its
// tickets have ended or wait again.
type Match struct {
	ID            string      `json:"id"`
	Configuration string      `json:"configuration"`
	Created       time.Time   `json:"created"`
	Tickets       []string    `json:"tickets"`            // in order of arrival
	Backfill      string      `json:"backfill,omitzero"`  // the backfill ticket among them
	AcceptBy      time.Time   `json:"accept_by,omitzero"` // set while acceptance is pending
	Level         int         `json:"level,omitzero"`     // of expansions, from 0
	Rules         []RuleCount `json:"rules,omitzero"`
	Players       int         `json:"players"` // number of new players
	Result        string      `json:"result,omitzero"`
	Ended         time.Time   `json:"ended,omitzero"`
	GameSessionID string      `json:"game_session_id,omitzero"`

	AutoTicketID string `json:"auto_ticket_id,omitzero"` // of the following automatic backfill, announced in the matchmaker data
}

// due returns when the acceptance of the match ends, or zero.
func (m *Match) due() time.Time { return m.AcceptBy }

// Hosted is what automatic backfill stores about a game session: all players ever matched
// into it, and the tickets created for it.
type Hosted struct {
	GameSessionID string   `json:"game_session_id"`
	Configuration string   `json:"configuration"`
	Players       []Player `json:"players"` // with their teams
	Tickets       []string `json:"tickets"` // ids of automatic tickets, announced or created; the latest last
	Off           bool     `json:"off,omitzero"`
}
