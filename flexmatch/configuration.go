package flexmatch

import (
	"time"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/session"
)

// Mode says how a match ends (FlexMatchMode).
type Mode string

// The modes of the API.
const (
	Standalone Mode = "STANDALONE" // an event, no game session
	WithQueue  Mode = "WITH_QUEUE" // a game session placed by a queue
)

// BackfillMode says who requests players for open slots.
type BackfillMode string

// The backfill modes of the API.
const (
	Manual    BackfillMode = "MANUAL"
	Automatic BackfillMode = "AUTOMATIC"
)

// Bounds of a configuration (API reference, MatchmakingConfiguration).
const (
	defaultAcceptance = 600 * time.Second // if acceptance is required and no time is set
	maxAcceptance     = 600 * time.Second
)

// Configuration is a MatchmakingConfiguration.
type Configuration struct {
	Name               string             `json:"name"`
	Description        string             `json:"description,omitzero"`
	RuleSet            string             `json:"rule_set"`        // name of the rule set
	Queues             []string           `json:"queues,omitzero"` // ARNs; the first is used
	RequestTimeout     time.Duration      `json:"request_timeout"`
	AcceptanceRequired bool               `json:"acceptance_required,omitzero"`
	AcceptanceTimeout  time.Duration      `json:"acceptance_timeout,omitzero"`
	Mode               Mode               `json:"mode"`
	Backfill           BackfillMode       `json:"backfill"`
	Additional         int                `json:"additional,omitzero"` // AdditionalPlayerCount: slots to keep free
	Properties         []session.Property `json:"properties,omitzero"`
	Data               string             `json:"data,omitzero"` // GameSessionData
	Target             string             `json:"target,omitzero"`
	EventData          string             `json:"event_data,omitzero"`
	Created            time.Time          `json:"created"`
}

func (c *Configuration) setDefaults() {
	if c.Mode == "" {
		c.Mode = WithQueue
	}
	if c.Backfill == "" {
		c.Backfill = Manual
	}
	if c.AcceptanceRequired && c.AcceptanceTimeout == 0 {
		c.AcceptanceTimeout = defaultAcceptance
	}
}

// validate checks the rules that span several members.
func (c *Configuration) validate() error {
	switch {
	case c.AcceptanceTimeout > maxAcceptance:
		return fault.Invalid("AcceptanceTimeoutSeconds: must be at most %d", int(maxAcceptance/time.Second))
	case c.Mode == WithQueue && len(c.Queues) == 0:
		return fault.Invalid("GameSessionQueueArns: required when FlexMatchMode is WITH_QUEUE")
	case c.Mode == Standalone && len(c.Queues) > 0:
		return fault.Invalid("GameSessionQueueArns: not allowed when FlexMatchMode is STANDALONE")
	case c.Mode == Standalone && c.Backfill == Automatic:
		return fault.Invalid("BackfillMode: AUTOMATIC needs game sessions, so it is not allowed when FlexMatchMode is STANDALONE")
	}
	return nil
}

// kept returns how many slots of a match stay free. STANDALONE has no game session and
// keeps none.
func (c *Configuration) kept() int {
	if c.Mode == Standalone {
		return 0
	}
	return c.Additional
}
