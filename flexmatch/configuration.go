package flexmatch

import (
	"context"
	"iter"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/patch"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/placement"
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

func (c *Configuration) settings() life.Settings {
	return life.Settings{AcceptanceRequired: c.AcceptanceRequired, AcceptanceTimeout: c.AcceptanceTimeout, Queue: c.Mode == WithQueue}
}

// Configurations are the matchmaking configurations.
type Configurations struct {
	t          *tables
	home       arn.Home
	events     *event.Log
	tags       *tag.Service
	ruleSets   *RuleSets
	placements *placement.Service
	quota      int               // 0 means unlimited
	changed    func(name string) // called once a change is durable
	create     *store.Command[ConfigurationInput, *Configuration]

	// Update changes a configuration. It applies to all later matches, including those of
	// waiting tickets. Errors: NotFound, InvalidRequest.
	Update *store.Command[ConfigurationUpdate, *Configuration]

	// Delete removes a configuration, by name or ARN, that no active ticket uses. Errors:
	// NotFound, InvalidRequest (in use).
	Delete *store.Action[string]
}

func newConfigurations(st *store.Store, t *tables, d Deps, ruleSets *RuleSets, quota int) *Configurations {
	s := &Configurations{t: t, home: d.Home, events: d.Events, tags: d.Tags, ruleSets: ruleSets, placements: d.Placements, quota: quota}
	s.create = store.NewCommand(st, "matchmaking.create", s.runCreate)
	s.Update = store.NewCommand(st, "matchmaking.update", s.runUpdate)
	s.Delete = store.NewAction(st, "matchmaking.delete", s.runDelete)
	d.Tags.Kind("matchmakingconfiguration", func(r store.Reader, a string) bool { return s.Get(r, a) != nil })
	return s
}

// ConfigurationInput describes the configuration to create. Its RuleSet may be an ARN.
type ConfigurationInput struct {
	Configuration Configuration
	Tags          map[string]string
}

// Create creates a configuration. Errors: InvalidRequest (name taken, rules), NotFound
// (rule set, queue), LimitExceeded, TaggingFailed.
func (s *Configurations) Create(ctx context.Context, in ConfigurationInput) (*Configuration, error) {
	if err := checkName(in.Configuration.Name); err != nil {
		return nil, err
	}
	return s.create.Do(ctx, in)
}

func (s *Configurations) runCreate(tx *store.Tx, in ConfigurationInput) (*Configuration, error) {
	c := in.Configuration
	if s.t.configurations.Get(tx, c.Name) != nil {
		return nil, fault.Invalid("Name: matchmaking configuration %s exists already", c.Name)
	}
	if n := s.t.configurations.Len(tx); s.quota > 0 && n >= s.quota {
		return nil, fault.New(fault.LimitExceeded, "there are %d matchmaking configurations, which is the quota", n)
	}
	c.setDefaults()
	c.Created = tx.Now()
	if err := s.check(tx, &c); err != nil {
		return nil, err
	}
	if err := s.tags.Put(tx, s.ARN(c.Name), in.Tags); err != nil {
		return nil, err
	}
	s.put(tx, &c)
	s.events.Append(tx, event.Event{Code: event.ConfigurationCreated, Resource: s.ARN(c.Name)})
	return &c, nil
}

// check validates a configuration and checks that its rule set and queues
// exist. It replaces the ARN of the rule set by its name.
func (s *Configurations) check(r store.Reader, c *Configuration) error {
	row, err := s.ruleSets.Get(r, c.RuleSet)
	if err != nil {
		return fault.Missing("RuleSetName: matchmaking rule set %s does not exist", c.RuleSet)
	}
	c.RuleSet = row.Name
	for i, q := range c.Queues {
		if arn.Kind(q) != "gamesessionqueue" {
			return fault.Invalid("GameSessionQueueArns.%d: %s is not the ARN of a game session queue", i+1, q)
		}
		if region, _ := arn.Owner(q); region != s.home.Region {
			return fault.Missing("GameSessionQueueArns.%d: game session queue %s is of region %s, and that of a configuration here must be of its own, %s: create it here; its destinations may be in every region of the deployment",
				i+1, q, region, s.home.Region)
		}
		if s.placements.Queues.Get(r, q) == nil {
			return fault.Missing("GameSessionQueueArns.%d: game session queue %s does not exist", i+1, q)
		}
	}
	if n := len(c.Properties); n > session.MaxProperties {
		return fault.Invalid("GameProperties: %d are given; at most %d are allowed", n, session.MaxProperties)
	}
	return c.validate()
}

// put writes a configuration and notifies its matcher on commit.
func (s *Configurations) put(tx *store.Tx, c *Configuration) {
	s.t.configurations.Put(tx, c)
	tx.OnCommit(func() { s.changed(c.Name) })
}

// ConfigurationUpdate patches a configuration: nil members leave the value unchanged;
// lists are replaced as a whole.
type ConfigurationUpdate struct {
	Name               string // or ARN
	Description        *string
	RuleSet            *string
	Queues             *[]string
	RequestTimeout     *time.Duration
	AcceptanceRequired *bool
	AcceptanceTimeout  *time.Duration
	Mode               *Mode
	Backfill           *BackfillMode
	Additional         *int
	Properties         *[]session.Property
	Data               *string
	Target             *string
	EventData          *string
}

func (s *Configurations) runUpdate(tx *store.Tx, in ConfigurationUpdate) (*Configuration, error) {
	old, err := s.find(tx, in.Name)
	if err != nil {
		return nil, err
	}
	c := *old
	in.apply(&c)
	c.setDefaults()
	if err := s.check(tx, &c); err != nil {
		return nil, err
	}
	s.put(tx, &c)
	s.events.Append(tx, event.Event{Code: event.ConfigurationUpdated, Resource: s.ARN(c.Name)})
	return &c, nil
}

func (in *ConfigurationUpdate) apply(c *Configuration) {
	patch.Set(&c.Description, in.Description)
	patch.Set(&c.RuleSet, in.RuleSet)
	patch.Set(&c.Queues, in.Queues)
	patch.Set(&c.RequestTimeout, in.RequestTimeout)
	patch.Set(&c.AcceptanceRequired, in.AcceptanceRequired)
	patch.Set(&c.AcceptanceTimeout, in.AcceptanceTimeout)
	patch.Set(&c.Mode, in.Mode)
	patch.Set(&c.Backfill, in.Backfill)
	patch.Set(&c.Additional, in.Additional)
	patch.Set(&c.Properties, in.Properties)
	patch.Set(&c.Data, in.Data)
	patch.Set(&c.Target, in.Target)
	patch.Set(&c.EventData, in.EventData)
	if in.Mode != nil && *in.Mode == Standalone && in.Queues == nil {
		c.Queues = nil // a standalone configuration has no queues
	}
}

func (s *Configurations) runDelete(tx *store.Tx, nameOrARN string) error {
	c, err := s.find(tx, nameOrARN)
	if err != nil {
		return err
	}
	if t := s.t.active.First(tx, c.Name); t != nil {
		return fault.Invalid("Name: matchmaking configuration %s has active tickets, such as %s, which is %s", c.Name, t.ID, t.Status)
	}
	s.t.configurations.Delete(tx, c.Name)
	s.tags.Drop(tx, s.ARN(c.Name))
	s.events.Append(tx, event.Event{Code: event.ConfigurationDeleted, Resource: s.ARN(c.Name)})
	tx.OnCommit(func() { s.changed(c.Name) })
	return nil
}

// Get returns a configuration by name or ARN, or nil.
func (s *Configurations) Get(r store.Reader, nameOrARN string) *Configuration {
	return s.t.configurations.Get(r, s.home.ID("matchmakingconfiguration", nameOrARN))
}

// After returns an iterator over the configurations after a name, in order of names.
func (s *Configurations) After(r store.Reader, after string) iter.Seq[*Configuration] {
	return s.t.configurations.After(r, after)
}

func (s *Configurations) find(r store.Reader, nameOrARN string) (*Configuration, error) {
	if c := s.Get(r, nameOrARN); c != nil {
		return c, nil
	}
	return nil, fault.Missing("matchmaking configuration %s does not exist", nameOrARN)
}

// ARN returns the ARN of a configuration.
func (s *Configurations) ARN(name string) string { return s.home.Of("matchmakingconfiguration", name) }
