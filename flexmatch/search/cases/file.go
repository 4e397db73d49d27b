package cases

import (
	"encoding/json"
	"fmt"
)

// File is a file of cases.
type File struct {
	Title    string                     `json:"title"`
	RuleSets map[string]json.RawMessage `json:"ruleSets"`
	Cases    []Case                     `json:"cases"`
}

// Case is one example. Which members it has follows from Kind: validate, eval,
// match or lifecycle.
type Case struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Kind  string `json:"kind"`

	RuleSet     json.RawMessage `json:"ruleSet"`
	RuleSetRef  string          `json:"ruleSetRef"`
	RuleSetText *string         `json:"ruleSetText"`

	Teams      map[string][]Player `json:"teams"`
	Expression string              `json:"expression"`

	Config  Config    `json:"config"`
	Tickets []Ticket  `json:"tickets"`
	Actions []Action  `json:"actions"`
	Passes  []float64 `json:"passes"`
	Timers  []float64 `json:"timers"`

	Expect Expect `json:"expect"`

	Body string `json:"-"` // of the rule set
}

// Config is a matchmaking configuration; absent members have the documented
// defaults of the schema.
type Config struct {
	FlexMatchMode            string
	AcceptanceRequired       bool
	AcceptanceTimeoutSeconds *float64
	RequestTimeoutSeconds    *float64
	AdditionalPlayerCount    int
	Placement                *struct {
		DelaySeconds float64 `json:"delaySeconds"`
		Result       string  `json:"result"`
	} `json:"placement"`
}

// Player is a player as requests give one.
type Player struct {
	PlayerID         string               `json:"PlayerId"`
	Team             string               `json:"Team"`
	PlayerAttributes map[string]Attribute `json:"PlayerAttributes"`
	LatencyInMs      map[string]float64   `json:"LatencyInMs"`
}

// Attribute is an attribute value; exactly one member may be set.
type Attribute struct {
	S   *string
	N   *float64
	SL  []string
	SDM map[string]float64
}

// Ticket is a request that arrives at a second; with Backfill it is a
// StartMatchBackfill.
type Ticket struct {
	TicketID string   `json:"TicketId"`
	At       float64  `json:"at"`
	Players  []Player `json:"Players"`
	Backfill *struct {
		GameSessionARN string `json:"GameSessionArn"`
	} `json:"backfill"`
}

// Action is a call about a ticket.
type Action struct {
	At             float64  `json:"at"`
	Op             string   `json:"op"`
	TicketID       string   `json:"TicketId"`
	PlayerIDs      []string `json:"PlayerIds"`
	AcceptanceType string   `json:"AcceptanceType"`
}

// Expect is what must come out; absent members are not looked at.
type Expect struct {
	Valid *bool            `json:"valid"`
	Error string           `json:"error"`
	Value *json.RawMessage `json:"value"`

	Matches []ExpectMatch           `json:"matches"`
	Waiting []string                `json:"waiting"`
	Tickets map[string]ExpectTicket `json:"tickets"`
	Errors  map[string]string       `json:"errors"`
	Events  []Event                 `json:"events"`
}

// ExpectMatch describes one match, in order of forming.
type ExpectMatch struct {
	At               *float64            `json:"at"`
	Tickets          []string            `json:"tickets"`
	TicketCount      *int                `json:"ticketCount"`
	Teams            map[string][]string `json:"teams"`
	Grouping         [][]string          `json:"grouping"`
	TeamSizes        map[string]int      `json:"teamSizes"`
	SizesMultiset    []int               `json:"sizesMultiset"`
	MaxTeamAvgSpread *struct {
		Attribute string  `json:"attribute"`
		Value     float64 `json:"value"`
	} `json:"maxTeamAvgSpread"`
}

// ExpectTicket is how a ticket stands at the end.
type ExpectTicket struct {
	Status       *string
	StatusReason *string
}

// Event is a matchmaking event.
type Event struct {
	At         float64  `json:"at"`
	Type       string   `json:"type"`
	Tickets    []string `json:"tickets"`
	Acceptance string   `json:"acceptance,omitempty"`
	Reason     string   `json:"reason,omitempty"`
}

// Read reads a file of cases.
func Read(data []byte) (*File, error) {
	f := &File{}
	if err := json.Unmarshal(data, f); err != nil {
		return nil, fmt.Errorf("read cases: %w", err)
	}
	for i := range f.Cases {
		c := &f.Cases[i]
		switch ref, ok := f.RuleSets[c.RuleSetRef]; {
		case c.RuleSetText != nil:
			c.Body = *c.RuleSetText
		case ok:
			c.Body = string(ref)
		case c.RuleSetRef != "":
			return nil, fmt.Errorf("case %s: there is no rule set %q", c.ID, c.RuleSetRef)
		default:
			c.Body = string(c.RuleSet)
		}
	}
	return f, nil
}
