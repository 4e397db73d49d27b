package flexmatch

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
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

// Validate checks the body of a rule set. Errors: InvalidRequest, listing every problem
// with its position.
func (s *Service) Validate(body string) error {
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

// CreateRuleSet creates a rule set. Errors: InvalidRequest (name taken, body),
// LimitExceeded, TaggingFailed.
func (s *Service) CreateRuleSet(ctx context.Context, in RuleSetInput) (*RuleSet, error) {
	if err := checkName(in.Name); err != nil {
		return nil, err
	}
	if err := s.Validate(in.Body); err != nil {
		return nil, err
	}
	return s.cmd.createRuleSet.Do(ctx, in)
}

// checkName refuses the empty name, which the API's pattern allows.
func checkName(name string) error {
	if name == "" {
		return fault.Invalid("Name: must have 1 to 128 characters")
	}
	return nil
}

func (s *Service) runCreateRuleSet(tx *store.Tx, in RuleSetInput) (*RuleSet, error) {
	if s.t.ruleSets.Get(tx, in.Name) != nil {
		return nil, fault.Invalid("Name: matchmaking rule set %s exists already; rule sets cannot be changed", in.Name)
	}
	if n := s.t.ruleSets.Len(tx); s.opts.RuleSets > 0 && n >= s.opts.RuleSets {
		return nil, fault.New(fault.LimitExceeded, "there are %d matchmaking rule sets, which is the quota", n)
	}
	if err := s.tags.Put(tx, s.RuleSetARN(in.Name), in.Tags); err != nil {
		return nil, err
	}
	r := &RuleSet{Name: in.Name, Body: in.Body, Created: tx.Now()}
	s.t.ruleSets.Put(tx, r)
	s.events.Append(tx, event.Event{Code: event.RuleSetCreated, Resource: s.RuleSetARN(r.Name)})
	return r, nil
}

// DeleteRuleSet removes a rule set that no configuration uses. Errors: NotFound,
// InvalidRequest (in use).
func (s *Service) DeleteRuleSet(ctx context.Context, nameOrARN string) error {
	_, err := s.cmd.deleteRuleSet.Do(ctx, nameOrARN)
	return err
}

func (s *Service) runDeleteRuleSet(tx *store.Tx, nameOrARN string) (struct{}, error) {
	r, err := s.findRuleSet(tx, nameOrARN)
	if err != nil {
		return struct{}{}, err
	}
	if c := s.t.byRuleSet.First(tx, r.Name); c != nil {
		return struct{}{}, fault.Invalid("Name: matchmaking rule set %s is used by configuration %s", r.Name, c.Name)
	}
	s.t.ruleSets.Delete(tx, r.Name)
	s.tags.Drop(tx, s.RuleSetARN(r.Name))
	s.events.Append(tx, event.Event{Code: event.RuleSetDeleted, Resource: s.RuleSetARN(r.Name)})
	return struct{}{}, nil
}

// RuleSet returns a rule set by name or ARN. Errors: NotFound.
func (s *Service) RuleSet(r store.Reader, nameOrARN string) (*RuleSet, error) {
	return s.findRuleSet(r, nameOrARN)
}

// RuleSets returns an iterator over the rule sets after a name, in order of names.
func (s *Service) RuleSets(r store.Reader, after string) iter.Seq[*RuleSet] {
	return s.t.ruleSets.After(r, after)
}

func (s *Service) findRuleSet(r store.Reader, nameOrARN string) (*RuleSet, error) {
	if found := s.t.ruleSets.Get(r, s.home.ID("matchmakingruleset", nameOrARN)); found != nil {
		return found, nil
	}
	return nil, fault.Missing("matchmaking rule set %s does not exist", nameOrARN)
}

// RuleSetARN returns the ARN of a rule set.
func (s *Service) RuleSetARN(name string) string { return s.home.Of("matchmakingruleset", name) }

// compiled caches compiled rule sets. It depends on the rows alone.
type compiled struct {
	mu sync.Mutex
	m  map[string]compiledRuleSet // by name
}

type compiledRuleSet struct {
	body string
	rs   *ruleset.RuleSet
}

// of returns the compiled form of a row, which was validated when it was created.
func (c *compiled) of(r *RuleSet) (*ruleset.RuleSet, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if have, ok := c.m[r.Name]; ok && have.body == r.Body {
		return have.rs, nil
	}
	rs, err := parse(r.Body)
	if err != nil {
		return nil, err
	}
	if c.m == nil {
		c.m = map[string]compiledRuleSet{}
	}
	c.m[r.Name] = compiledRuleSet{r.Body, rs}
	return rs, nil
}

// rules returns a configuration's compiled rule set.
func (s *Service) rules(r store.Reader, c *Configuration) (*ruleset.RuleSet, error) {
	row, err := s.findRuleSet(r, c.RuleSet)
	if err != nil {
		return nil, err
	}
	return s.compiled.of(row)
}
