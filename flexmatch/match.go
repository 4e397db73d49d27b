package flexmatch

import "time"

// Match is tickets that play together, from the pass that found it until its
// tickets are over or wait again.
type Match struct {
	ID            string      `json:"id"`
	Configuration string      `json:"configuration"`
	Created       time.Time   `json:"created"`
	Tickets       []string    `json:"tickets"`            // in order of arrival
	Backfill      string      `json:"backfill,omitzero"`  // of them, the backfill ticket
	AcceptBy      time.Time   `json:"accept_by,omitzero"` // while players are asked
	Level         int         `json:"level,omitzero"`     // of expansion, from 0
	Rules         []RuleCount `json:"rules,omitzero"`
	Players       int         `json:"players"` // new ones
	Result        string      `json:"result,omitzero"`
	Ended         time.Time   `json:"ended,omitzero"`
	GameSessionID string      `json:"game_session_id,omitzero"`

	AutoTicketID string `json:"auto_ticket_id,omitzero"` // of the automatic backfill that follows, announced in the matchmaker data
}

// due is when the acceptance of the match ends, or zero.
func (m *Match) due() time.Time { return m.AcceptBy }

// Hosted is what automatic backfill remembers of a game session: everybody who
// was ever matched into it, and the tickets made for it.
type Hosted struct {
	GameSessionID string   `json:"game_session_id"`
	Configuration string   `json:"configuration"`
	Players       []Player `json:"players"` // with their teams
	Tickets       []string `json:"tickets"` // ids of automatic tickets, announced or made; the latest last
	Off           bool     `json:"off,omitzero"`
}
