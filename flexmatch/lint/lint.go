package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// Kind says what is wrong.
type Kind string

// The kinds of findings.
const (
	Impossible Kind = "impossible" // no match can fulfill it
	Unreached  Kind = "unreached"  // it never applies
	Idle       Kind = "idle"       // it changes nothing
	Backward   Kind = "backward"   // the longer players wait, the fewer can be matched
	Expensive  Kind = "expensive"  // matching takes long, or hardly matches, where many tickets wait
	Loose      Kind = "loose"      // a promise of the rule set that placement does not keep
)

// Finding is one thing that is probably not meant.
type Finding struct {
	Kind   Kind
	At     ruleset.Position
	Member string // such as rules[Near]
	Text   string // what is wrong, and what helps
}

// Check returns what is wrong with a rule set, in the order of its text.
func Check(rs *ruleset.RuleSet) []Finding {
	c := &checked{rs: rs}
	c.impossible()
	c.always()
	c.unread()
	c.algorithm()
	c.steps()
	c.expensive()
	slices.SortStableFunc(c.found, func(a, b Finding) int { return cmp.Or(a.At.Line-b.At.Line, a.At.Column-b.At.Column) })
	return c.found
}

// checked is a rule set and what was found in it.
type checked struct {
	rs    *ruleset.RuleSet
	found []Finding
}

func (c *checked) say(kind Kind, at ruleset.Position, member, format string, args ...any) {
	c.found = append(c.found, Finding{kind, at, member, fmt.Sprintf(format, args...)})
}

// rule says something of a rule.
func (c *checked) rule(kind Kind, rule int, format string, args ...any) {
	r := c.rs.Levels()[0].Rules[rule]
	c.say(kind, r.At, "rules["+r.Name+"]", format, args...)
}

// said reports whether something of a kind was found about a member.
func (c *checked) said(kind Kind, member string) bool {
	return slices.ContainsFunc(c.found, func(f Finding) bool { return f.Kind == kind && f.Member == member })
}
