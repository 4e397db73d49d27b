package flexmatch

import (
	"context"
	"iter"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/session"
)

// ConfigurationInput describes the configuration to create. Its RuleSet may be an ARN.
type ConfigurationInput struct {
	Configuration Configuration
	Tags          map[string]string
}

// CreateConfiguration creates a configuration. Errors: InvalidRequest (name taken,
// rules), NotFound (rule set, queue), LimitExceeded, TaggingFailed.
func (s *Service) CreateConfiguration(ctx context.Context, in ConfigurationInput) (*Configuration, error) {
	if err := checkName(in.Configuration.Name); err != nil {
		return nil, err
	}
	return s.cmd.createConfiguration.Do(ctx, in)
}

func (s *Service) runCreateConfiguration(tx *store.Tx, in ConfigurationInput) (*Configuration, error) {
	c := in.Configuration
	if s.t.configurations.Get(tx, c.Name) != nil {
		return nil, fault.Invalid("Name: matchmaking configuration %s exists already", c.Name)
	}
	if n := s.t.configurations.Len(tx); s.opts.Configurations > 0 && n >= s.opts.Configurations {
		return nil, fault.New(fault.LimitExceeded, "there are %d matchmaking configurations, which is the quota", n)
	}
	c.setDefaults()
	c.Created = tx.Now()
	if err := s.checkConfiguration(tx, &c); err != nil {
		return nil, err
	}
	if err := s.tags.Put(tx, s.ConfigurationARN(c.Name), in.Tags); err != nil {
		return nil, err
	}
	s.putConfiguration(tx, &c)
	s.events.Append(tx, event.Event{Code: event.ConfigurationCreated, Resource: s.ConfigurationARN(c.Name)})
	return &c, nil
}

// checkConfiguration validates a configuration and checks that its rule set and queues
// exist. It replaces the ARN of the rule set by its name.
func (s *Service) checkConfiguration(r store.Reader, c *Configuration) error {
	row, err := s.findRuleSet(r, c.RuleSet)
	if err != nil {
		return fault.Missing("RuleSetName: matchmaking rule set %s does not exist", c.RuleSet)
	}
	c.RuleSet = row.Name
	for i, q := range c.Queues {
		if arn.Kind(q) != "gamesessionqueue" {
			return fault.Invalid("GameSessionQueueArns.%d: %s is not the ARN of a game session queue", i+1, q)
		}
		if s.placements.Queue(r, q) == nil {
			return fault.Missing("GameSessionQueueArns.%d: game session queue %s does not exist", i+1, q)
		}
	}
	if n := len(c.Properties); n > session.MaxProperties {
		return fault.Invalid("GameProperties: %d are given; at most %d are allowed", n, session.MaxProperties)
	}
	return c.validate()
}

// putConfiguration writes a configuration and notifies its matcher on commit.
func (s *Service) putConfiguration(tx *store.Tx, c *Configuration) {
	s.t.configurations.Put(tx, c)
	name := c.Name
	tx.OnCommit(func() { s.matchers.tell(name) })
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

// UpdateConfiguration changes a configuration. It applies to all later matches, including
// those of waiting tickets.
// Errors: NotFound, InvalidRequest.
func (s *Service) UpdateConfiguration(ctx context.Context, in ConfigurationUpdate) (*Configuration, error) {
	return s.cmd.updateConfiguration.Do(ctx, in)
}

func (s *Service) runUpdateConfiguration(tx *store.Tx, in ConfigurationUpdate) (*Configuration, error) {
	old, err := s.findConfiguration(tx, in.Name)
	if err != nil {
		return nil, err
	}
	c := *old
	in.apply(&c)
	c.setDefaults()
	if err := s.checkConfiguration(tx, &c); err != nil {
		return nil, err
	}
	s.putConfiguration(tx, &c)
	s.events.Append(tx, event.Event{Code: event.ConfigurationUpdated, Resource: s.ConfigurationARN(c.Name)})
	return &c, nil
}

func (in *ConfigurationUpdate) apply(c *Configuration) {
	set(&c.Description, in.Description)
	set(&c.RuleSet, in.RuleSet)
	set(&c.Queues, in.Queues)
	set(&c.RequestTimeout, in.RequestTimeout)
	set(&c.AcceptanceRequired, in.AcceptanceRequired)
	set(&c.AcceptanceTimeout, in.AcceptanceTimeout)
	set(&c.Mode, in.Mode)
	set(&c.Backfill, in.Backfill)
	set(&c.Additional, in.Additional)
	set(&c.Properties, in.Properties)
	set(&c.Data, in.Data)
	set(&c.Target, in.Target)
	set(&c.EventData, in.EventData)
	if in.Mode != nil && *in.Mode == Standalone && in.Queues == nil {
		c.Queues = nil // a standalone configuration has no queues
	}
}

// set assigns *v to *to unless v is nil.
func set[T any](to *T, v *T) {
	if v != nil {
		*to = *v
	}
}

// DeleteConfiguration removes a configuration that no active ticket uses.
// Errors: NotFound, InvalidRequest (in use).
func (s *Service) DeleteConfiguration(ctx context.Context, nameOrARN string) error {
	_, err := s.cmd.deleteConfiguration.Do(ctx, nameOrARN)
	return err
}

func (s *Service) runDeleteConfiguration(tx *store.Tx, nameOrARN string) (struct{}, error) {
	c, err := s.findConfiguration(tx, nameOrARN)
	if err != nil {
		return struct{}{}, err
	}
	if t := s.t.active.First(tx, c.Name); t != nil {
		return struct{}{}, fault.Invalid("Name: matchmaking configuration %s has active tickets, such as %s, which is %s", c.Name, t.ID, t.Status)
	}
	s.t.configurations.Delete(tx, c.Name)
	s.tags.Drop(tx, s.ConfigurationARN(c.Name))
	s.events.Append(tx, event.Event{Code: event.ConfigurationDeleted, Resource: s.ConfigurationARN(c.Name)})
	name := c.Name
	tx.OnCommit(func() { s.matchers.tell(name) })
	return struct{}{}, nil
}

// Configuration returns a configuration by name or ARN, or nil.
func (s *Service) Configuration(r store.Reader, nameOrARN string) *Configuration {
	return s.t.configurations.Get(r, s.home.ID("matchmakingconfiguration", nameOrARN))
}

// Configurations returns an iterator over the configurations after a name, in order of
// names.
func (s *Service) Configurations(r store.Reader, after string) iter.Seq[*Configuration] {
	return s.t.configurations.After(r, after)
}

func (s *Service) findConfiguration(r store.Reader, nameOrARN string) (*Configuration, error) {
	if c := s.Configuration(r, nameOrARN); c != nil {
		return c, nil
	}
	return nil, fault.Missing("matchmaking configuration %s does not exist", nameOrARN)
}

// ConfigurationARN returns the ARN of a configuration.
func (s *Service) ConfigurationARN(name string) string {
	return s.home.Of("matchmakingconfiguration", name)
}
