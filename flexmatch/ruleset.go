package flexmatch

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
)

// RuleSet is a MatchmakingRuleSet. It is immutable.
type RuleSet struct {
	Name    string    `json:"name"`
	Body    string    `json:"body"`
	Created time.Time `json:"created"`
}

// RuleSetInput describes the rule set to create.
type RuleSetInput struct {
	Name, Body string
	Tags       map[string]string
}

// RuleSets are the matchmaking rule sets, which are written in the language of package
// ruleset.
type RuleSets struct {
	t      *tables
	home   arn.Home
	events *event.Log
	tags   *tag.Service
	quota  int // 0 means unlimited
	create *store.Command[RuleSetInput, *RuleSet]

	// Delete removes a rule set, by name or ARN, that no configuration uses. Errors:
	// NotFound, InvalidRequest (in use).
	Delete *store.Action[string]

	mu       sync.Mutex
	compiled map[string]compiledRuleSet // by name; it depends on the rows alone
}

func newRuleSets(st *store.Store, t *tables, d Deps, quota int) *RuleSets {
	s := &RuleSets{t: t, home: d.Home, events: d.Events, tags: d.Tags, quota: quota, compiled: map[string]compiledRuleSet{}}
	s.create = store.NewCommand(st, "ruleset.create", s.runCreate)
	s.Delete = store.NewAction(st, "ruleset.delete", s.runDelete)
	d.Tags.Kind("matchmakingruleset", func(r store.Reader, a string) bool {
		_, err := s.Get(r, a)
		return err == nil
	})
	return s
}

// Validate checks the body of a rule set. Errors: InvalidRequest, listing every problem
// with its position.
func (s *RuleSets) Validate(body string) error {
	_, err := parse(body)
	return err
}

// parse compiles a body. Its errors are faults.
func parse(body string) (*ruleset.RuleSet, error) {
	rs, err := ruleset.Parse(body)
	var wrong ruleset.Errors
	if errors.As(err, &wrong) {
		return nil, wrong.Fault()
	}
	return rs, err
}

// Create creates a rule set. Errors: InvalidRequest (name taken, body), LimitExceeded,
// TaggingFailed.
func (s *RuleSets) Create(ctx context.Context, in RuleSetInput) (*RuleSet, error) {
	if err := checkName(in.Name); err != nil {
		return nil, err
	}
	if err := s.Validate(in.Body); err != nil {
		return nil, err
	}
	return s.create.Do(ctx, in)
}

// checkName refuses the empty name, which the API's pattern allows.
func checkName(name string) error {
	if name == "" {
		return fault.Invalid("Name: must have 1 to 128 characters")
	}
	return nil
}

func (s *RuleSets) runCreate(tx *store.Tx, in RuleSetInput) (*RuleSet, error) {
	if s.t.ruleSets.Get(tx, in.Name) != nil {
		return nil, fault.Invalid("Name: matchmaking rule set %s exists already; rule sets cannot be changed", in.Name)
	}
	if n := s.t.ruleSets.Len(tx); s.quota > 0 && n >= s.quota {
		return nil, fault.New(fault.LimitExceeded, "there are %d matchmaking rule sets, which is the quota", n)
	}
	if err := s.tags.Put(tx, s.ARN(in.Name), in.Tags); err != nil {
		return nil, err
	}
	r := &RuleSet{Name: in.Name, Body: in.Body, Created: tx.Now()}
	s.t.ruleSets.Put(tx, r)
	s.events.Append(tx, event.Event{Code: event.RuleSetCreated, Resource: s.ARN(r.Name)})
	return r, nil
}

func (s *RuleSets) runDelete(tx *store.Tx, nameOrARN string) error {
	r, err := s.Get(tx, nameOrARN)
	if err != nil {
		return err
	}
	if c := s.t.byRuleSet.First(tx, r.Name); c != nil {
		return fault.Invalid("Name: matchmaking rule set %s is used by configuration %s", r.Name, c.Name)
	}
	s.t.ruleSets.Delete(tx, r.Name)
	s.tags.Drop(tx, s.ARN(r.Name))
	s.events.Append(tx, event.Event{Code: event.RuleSetDeleted, Resource: s.ARN(r.Name)})
	return nil
}

// After returns an iterator over the rule sets after a name, in order of names.
func (s *RuleSets) After(r store.Reader, after string) iter.Seq[*RuleSet] {
	return s.t.ruleSets.After(r, after)
}

// Get returns a rule set by name or ARN. Errors: NotFound.
func (s *RuleSets) Get(r store.Reader, nameOrARN string) (*RuleSet, error) {
	if found := s.t.ruleSets.Get(r, s.home.ID("matchmakingruleset", nameOrARN)); found != nil {
		return found, nil
	}
	return nil, fault.Missing("matchmaking rule set %s does not exist", nameOrARN)
}

// ARN returns the ARN of a rule set.
func (s *RuleSets) ARN(name string) string { return s.home.Of("matchmakingruleset", name) }

type compiledRuleSet struct {
	body string
	rs   *ruleset.RuleSet
}

// of returns a configuration's compiled rule set. Rule sets are valid, since they were
// checked when they were created.
func (s *RuleSets) of(r store.Reader, c *Configuration) (*ruleset.RuleSet, error) {
	row, err := s.Get(r, c.RuleSet)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if have, ok := s.compiled[row.Name]; ok && have.body == row.Body {
		return have.rs, nil
	}
	rs, err := parse(row.Body)
	if err != nil {
		return nil, err
	}
	s.compiled[row.Name] = compiledRuleSet{row.Body, rs}
	return rs, nil
}
