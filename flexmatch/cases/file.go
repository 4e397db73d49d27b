package cases

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// File is a file of cases.
type File struct {
	Title    string
	RuleSets map[string]json.RawMessage
	Cases    []Case
}

// Case is one example. Its Kind determines which members it has: validate, eval, match or
// lifecycle.
type Case struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Kind     string `json:"kind"`
	Source   string `json:"source"`   // where the expectation comes from
	Decision string `json:"decision"` // the design choice that it depends on, if any
	Note     string `json:"note"`

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

	Body string `json:"-"` // the rule set's body

	unread error // why the case could not be read
}

// Config is a matchmaking configuration. Absent members have the documented defaults.
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

// Player is a player as in a request.
type Player struct {
	PlayerID         string               `json:"PlayerId"`
	Team             string               `json:"Team"`
	PlayerAttributes map[string]Attribute `json:"PlayerAttributes"`
	LatencyInMs      map[string]float64   `json:"LatencyInMs"`
}

// Attribute is an attribute value. A request is refused unless exactly one member is set.
type Attribute struct {
	S   *string
	N   *float64
	SL  []string
	SDM map[string]float64
}

// UnmarshalJSON reads a value. A value that is not of the API's types becomes one without
// any member: cases include malformed requests.
func (a *Attribute) UnmarshalJSON(data []byte) error {
	type plain Attribute
	if err := strictly(data, (*plain)(a)); err != nil {
		*a = Attribute{}
	}
	return nil
}

// Ticket is a request that arrives at a second. With Backfill it is a StartMatchBackfill.
type Ticket struct {
	TicketID string   `json:"TicketId"`
	At       float64  `json:"at"`
	Players  []Player `json:"Players"`
	Backfill *struct {
		GameSessionARN string `json:"GameSessionArn"`
	} `json:"backfill"`
}

// Action is a call for a ticket.
type Action struct {
	At             float64  `json:"at"`
	Op             string   `json:"op"`
	TicketID       string   `json:"TicketId"`
	PlayerIDs      []string `json:"PlayerIds"`
	AcceptanceType string   `json:"AcceptanceType"`
}

// Expect is the expected result. Absent members are not checked.
type Expect struct {
	Valid *bool           `json:"valid"`
	Error string          `json:"error"`
	Value json.RawMessage `json:"value"` // null means undefined

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

// ExpectTicket is the state of a ticket at the end.
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

// Read reads a file of cases. A case that violates the schema, such as one that expects
// something unknown, is in the result and fails when it is run.
func Read(data []byte) (*File, error) {
	var in struct {
		SchemaVersion int                        `json:"schemaVersion"`
		Title         string                     `json:"title"`
		RuleSets      map[string]json.RawMessage `json:"ruleSets"`
		Cases         []json.RawMessage          `json:"cases"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, fmt.Errorf("read cases: %w", err)
	}
	if in.SchemaVersion > 1 {
		return nil, fmt.Errorf("read cases: schemaVersion %d is newer than 1", in.SchemaVersion)
	}
	f := &File{Title: in.Title, RuleSets: in.RuleSets, Cases: make([]Case, len(in.Cases))}
	for i, raw := range in.Cases {
		f.Cases[i] = f.read(raw)
	}
	return f, nil
}

func (f *File) read(raw json.RawMessage) Case {
	c := Case{}
	if c.unread = strictly(raw, &c); c.unread != nil {
		json.Unmarshal(raw, &struct{ ID *string }{&c.ID}) // for the id alone
		return c
	}
	switch ref, ok := f.RuleSets[c.RuleSetRef]; {
	case c.RuleSetText != nil:
		c.Body = *c.RuleSetText
	case ok:
		c.Body = string(ref)
	case c.RuleSetRef != "":
		c.unread = fmt.Errorf("there is no rule set %q", c.RuleSetRef)
	default:
		c.Body = string(c.RuleSet)
	}
	return c
}

// strictly unmarshals JSON and refuses unknown fields.
func strictly(data []byte, out any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(out)
}
