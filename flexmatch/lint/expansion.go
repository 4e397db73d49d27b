package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// steps finds steps of expansions that change nothing, and those that make matches harder to form.
func (c *checked) steps() {
	for _, s := range c.rs.Steps {
		of := c.target(&s)
		age := s.From.String()
		switch {
		case s.Beaten:
			c.say(Idle, s.At, of, "the step at %s changes nothing: another step sets %s at the same age, and counts instead", age, s.Property)
		case s.Idle && s.Property == "maxDistance" && s.Was == nil && c.rs.Levels()[0].Rules[s.Rule].Type == "batchDistance":
			c.say(Idle, s.At, of, "the step at %s changes nothing: strings must be equal, whatever maxDistance is", age)
		case s.Idle:
			c.say(Idle, s.At, of, "the step at %s changes nothing: %s is %s before it too", age, s.Property, value(s.Was))
		case s.From == 0:
			c.say(Unreached, s.At, of, "the step at 0s holds from the beginning, so the %s of %s never applies: write %s there", s.Property, value(s.Was), value(s.Is))
		case c.stricter(&s):
			c.say(Backward, s.At, of, "the step at %s makes the rule stricter, %s from %s to %s: the longer players wait, the fewer can be matched", age, s.Property, value(s.Was), value(s.Is))
		}
	}
}

func (c *checked) target(s *ruleset.Step) string {
	if s.Rule >= 0 {
		return "rules[" + c.rs.Levels()[0].Rules[s.Rule].Name + "]"
	}
	return "teams[" + c.rs.Teams[s.Team].Name + "]"
}

// value returns a value of a property in words.
func value(v any) string {
	switch v := v.(type) {
	case nil:
		return "not set"
	case string:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprint(v)
}

// stricter reports whether a step allows fewer matches than what held before. Of what may allow some
// more and some fewer nothing is said.
func (c *checked) stricter(s *ruleset.Step) bool {
	raised := raised(s)
	if s.Rule < 0 {
		return raised > 0 && s.Property == "minPlayers" || raised < 0 && s.Property == "maxPlayers"
	}
	harder := raised * c.rs.Levels()[0].Rules[s.Rule].Rising(s.Property)
	signs := c.signs(s.Rule)
	return len(signs) > 0 && !slices.ContainsFunc(signs, func(sign int) bool { return harder*sign <= 0 })
}

// raised returns 1 if a step raises a number, -1 if it lowers it, else 0. Without a limit there is
// none; but a collection without limits has a minCount of 1.
func raised(s *ruleset.Step) int {
	was, before := s.Was.(float64)
	is, now := s.Is.(float64)
	switch {
	case !now || !before && (s.Was != nil || s.Property == "minCount"):
		return 0
	case !before && strings.HasPrefix(s.Property, "min"), before && is > was:
		return 1
	case !before && strings.HasPrefix(s.Property, "max"), before && is < was:
		return -1
	}
	return 0
}

// signs returns how a rule enters what is enforced, once for each time: 1 if it must hold, -1 if it
// must not. An exclusive or has both.
func (c *checked) signs(rule int) (out []int) {
	level := c.rs.Levels()[0]
	if level.Rules[rule].Enforced {
		out = append(out, 1)
	}
	for i, r := range level.Rules {
		if r.Enforced && i != rule {
			out = append(out, r.Signs(rule)...)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(out)))
}
