package cases

import (
	"errors"
	"fmt"
	"slices"
)

// check returns an error if the case itself is invalid, which would otherwise go
// unnoticed.
func (c *Case) check() error {
	if c.unread != nil {
		return fmt.Errorf("read case: %w", c.unread)
	}
	allowed, ok := expected[c.Kind]
	if !ok {
		return fmt.Errorf("unknown kind %q", c.Kind)
	}
	given := c.Expect.given()
	for _, name := range given {
		if !slices.Contains(allowed, name) {
			return fmt.Errorf("a case of kind %s cannot expect %q", c.Kind, name)
		}
	}
	if !slices.Contains(given, allowed[0]) && (c.Kind == "validate" || c.Kind == "eval") || len(given) == 0 {
		return fmt.Errorf("expect.%s is absent", allowed[0])
	}
	if c.Body == "" && c.RuleSetText == nil {
		return errors.New("there is no rule set")
	}
	return c.checkPlay()
}

// expected lists, by kind, what cases may expect. The first two kinds require the first
// member.
var expected = map[string][]string{
	"validate":  {"valid", "error"},
	"eval":      {"value"},
	"match":     {"matches", "waiting", "tickets", "errors", "events"},
	"lifecycle": {"matches", "waiting", "tickets", "errors", "events"},
}

func (e *Expect) given() []string {
	var out []string
	for _, m := range []struct {
		name string
		in   bool
	}{{"valid", e.Valid != nil}, {"error", e.Error != ""}, {"value", e.Value != nil}, {"matches", e.Matches != nil},
		{"waiting", e.Waiting != nil}, {"tickets", e.Tickets != nil}, {"errors", e.Errors != nil}, {"events", e.Events != nil}} {
		if m.in {
			out = append(out, m.name)
		}
	}
	return out
}

func (c *Case) checkPlay() error {
	if mode := c.Config.FlexMatchMode; !slices.Contains([]string{"", "STANDALONE", "WITH_QUEUE"}, mode) {
		return fmt.Errorf("unknown FlexMatchMode %q", mode)
	}
	if p := c.Config.Placement; p != nil && !slices.Contains([]string{"", "FULFILLED", "TIMED_OUT", "FAILED"}, p.Result) {
		return fmt.Errorf("unknown placement result %q", p.Result)
	}
	for _, a := range c.Actions {
		if a.Op != "StopMatchmaking" && a.Op != "AcceptMatch" {
			return fmt.Errorf("unknown operation %q", a.Op)
		}
	}
	return nil
}
