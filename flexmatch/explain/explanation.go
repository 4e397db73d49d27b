package explain

import "time"

// Explanation says why one ticket waits.
type Explanation struct {
	TicketID string `json:"ticket_id"`
	Players  int    `json:"players"`
	Backfill bool   `json:"backfill,omitzero"`

	Waited   int64 `json:"waited_ms"`
	Level    int   `json:"level"`              // expansion steps that its age has reached
	Levels   int   `json:"levels"`             // how many there are
	NextStep *Step `json:"next_step,omitzero"` // the next that its age will reach

	Never []Cause `json:"never,omitzero"` // why no match can ever hold it
	Alone []Cause `json:"alone,omitzero"` // rules that it breaks by itself at its age

	Others     int        `json:"others"`     // other tickets that wait
	Compared   int        `json:"compared"`   // of them, held against this one
	Compatible int        `json:"compatible"` // of those, could play with it as far as two tickets tell
	Blocking   []Blocking `json:"blocking,omitzero"`

	Nearest *Group  `json:"nearest,omitzero"`
	Would   *Future `json:"would,omitzero"` // nil: not with the tickets that wait now
	Ahead   Ahead   `json:"ahead"`
}

// Step is an expansion step to come.
type Step struct {
	Level   int      `json:"level"`
	In      int64    `json:"in_ms"`
	Changes []string `json:"changes,omitzero"` // the rules and teams that it changes
}

// Cause codes.
const (
	MissingAttribute = "MISSING_ATTRIBUTE"
	NoLatency        = "NO_LATENCY"
	PartyTooLarge    = "PARTY_TOO_LARGE"
	UnknownTeam      = "UNKNOWN_TEAM"
	SessionFull      = "SESSION_FULL"
	BreaksRule       = "BREAKS_RULE"
)

// Cause is a reason that lies in the ticket itself.
type Cause struct {
	Code   string `json:"code"`
	Player string `json:"player,omitzero"`
	Name   string `json:"name,omitzero"` // of the attribute, rule or team
	Text   string `json:"text"`          // for people
}

// Reasons other than rules why two tickets cannot play together.
const (
	ReasonSizes    = "team sizes"             // they do not fit into the teams
	ReasonBackfill = "one backfill a match"   // both fill a game session
	ReasonNever    = "the other never can be" // the other ticket can never be matched
)

// Blocking is what a rule, or a reason beside the rules, keeps from the ticket.
type Blocking struct {
	Rule    string   `json:"rule,omitzero"`
	Type    string   `json:"type,omitzero"`
	Reason  string   `json:"reason,omitzero"` // where it is no rule
	Tickets int      `json:"tickets"`         // that it keeps apart from this one
	Only    int      `json:"only"`            // of them, kept apart by nothing else
	Nearest *float64 `json:"nearest,omitzero"`
	Limit   *float64 `json:"limit,omitzero"` // what Nearest, the best of those kept apart, is held against
}

// Group is the largest group around the ticket that was found.
type Group struct {
	Tickets []string `json:"tickets"` // this one first
	Players int      `json:"players"` // those of a game session included
	Level   int      `json:"level"`   // that holds at the group's age

	Smallest        int `json:"smallest"` // players of the smallest and of the full match
	Full            int `json:"full"`
	MissingSmallest int `json:"missing_smallest"`
	MissingFull     int `json:"missing_full"`

	Match    bool      `json:"match,omitzero"`    // the group is a valid match
	Broken   []string  `json:"broken,omitzero"`   // rules that refuse it in the best teams found
	Teams    string    `json:"teams,omitzero"`    // what is wrong with the team sizes there
	Rejected []Refusal `json:"rejected,omitzero"` // what kept others out of the group
}

// Refusal is why compatible tickets did not join a group.
type Refusal struct {
	Rule    string `json:"rule,omitzero"`
	Reason  string `json:"reason,omitzero"`
	Tickets int    `json:"tickets"`
}

// Future is the match that would hold the ticket if nobody came or went.
type Future struct {
	At      time.Time `json:"at"`
	In      int64     `json:"in_ms"` // 0: with the next pass
	Level   int       `json:"level"`
	Players int       `json:"players"`
	Tickets []string  `json:"tickets"`
}

// Ahead tells what was played ahead to know the future.
type Ahead struct {
	Tickets int   `json:"tickets"` // this one included
	Passes  int   `json:"passes"`
	Until   int64 `json:"until_ms"`
	Bounded bool  `json:"bounded,omitzero"` // not all tickets, or not every step on its own
}
