package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/internal/nearest"
)

// Doubts returns what is likely a mistake in the players for a rule set: attributes that it
// does not declare, and strings that its rules count and no player has.
func (s *Spec) Doubts(rs *ruleset.RuleSet) (out []string) {
	var declared []string
	for _, a := range rs.Attributes {
		declared = append(declared, a.Name)
	}
	for _, p := range s.Populations {
		for _, name := range slices.Sorted(maps.Keys(p.Attributes)) {
			if !slices.Contains(declared, name) {
				out = append(out, fmt.Sprintf("population %s: the rule set does not declare the attribute %s, so no rule reads it%s", p.Name, name, nearest.DidYouMean(name, declared)))
			}
		}
	}
	for _, r := range rs.Level(0).Rules {
		if c, ok := r.Counts(); ok && r.Enforced {
			out = append(out, s.absent(rs, r.Name, &c)...)
		}
	}
	return out
}

// absent returns that no player has the string that a rule counts, if so.
func (s *Spec) absent(rs *ruleset.RuleSet, rule string, c *ruleset.Counts) []string {
	index, _ := c.Attribute()
	of := rs.Attributes[index]
	if len(s.Populations) == 0 || of.Default != nil && (of.Default.String == c.Text || slices.Contains(of.Default.Strings, c.Text)) {
		return nil
	}
	var drawn []string
	for _, p := range s.Populations {
		a := p.Attributes[of.Name]
		drawn = slices.AppendSeq(drawn, maps.Keys(a.String))
		if a.List != nil {
			drawn = slices.AppendSeq(drawn, maps.Keys(a.List.From))
		}
	}
	if slices.Contains(drawn, c.Text) {
		return nil
	}
	slices.Sort(drawn)
	return []string{fmt.Sprintf("no population has %s %q, which the rule %s counts%s", of.Name, c.Text, rule, nearest.DidYouMean(c.Text, drawn))}
}
