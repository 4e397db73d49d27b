package ruleset

import (
	"slices"
	"strings"
	"time"
)

// expansion changes one property of some rules or teams as a match ages.
type expansion struct {
	number   int // index in the list
	rules    []int
	teams    []int
	property string
	steps    []step
}

// step is a value and the age from which it applies.
type step struct {
	seconds float64 // as written
	wait    time.Duration
	value   *node
	path    string
}

// expansions reads the list of expansions, then resolves the levels.
func (s *scope) expansions(root object) {
	var list []*expansion
	for i, item := range root.list("expansions") {
		before := len(s.errs)
		if o, ok := s.object(item, at("expansions", i)); ok {
			x := s.expansion(o)
			if x.number = i; len(s.errs) == before {
				list = append(list, x)
			}
		}
	}
	s.levels(list)
}

func (s *scope) expansion(o object) *expansion {
	o.only("target", "steps")
	x := &expansion{}
	if target := o.text("target", MissingProperty); target != "" {
		s.target(o, x, target)
	}
	steps := o.get("steps")
	if steps == nil || steps.kind != isList || len(steps.items) == 0 {
		o.bad("steps", BadExpansionSteps, "a list of at least one step is required")
		return x
	}
	for i, item := range steps.items {
		if step, ok := s.object(item, at(o.place("steps"), i)); ok {
			s.step(step, x)
		}
	}
	return x
}

func (s *scope) step(o object, x *expansion) {
	o.only("waitTimeSeconds", "value")
	n := o.get("waitTimeSeconds")
	if n == nil {
		o.bad("waitTimeSeconds", BadExpansionSteps, "is required")
		return
	}
	seconds, ok := n.asNumber()
	if !ok || seconds < 0 {
		o.bad("waitTimeSeconds", BadExpansionSteps, "must be a number of at least 0")
		return
	}
	if last := len(x.steps) - 1; last >= 0 && seconds <= x.steps[last].seconds {
		o.bad("waitTimeSeconds", BadExpansionSteps, "must be longer than in the step before")
		return
	}
	value := o.get("value")
	if value == nil {
		o.bad("value", BadExpansionValue, "is required")
		return
	}
	wait := time.Duration(min(seconds, longest.Seconds()) * float64(time.Second))
	x.steps = append(x.steps, step{seconds: seconds, wait: wait, value: value, path: o.place("value")})
}

// longest caps wait times. No ticket comes near it.
const longest = 250 * 365 * 24 * time.Hour

// target reads
//
//	( "rules" | "teams" ) "[" name { "," name } "]" "." property
func (s *scope) target(o object, x *expansion, text string) {
	kind, rest, okOpen := strings.Cut(trim(text), "[")
	inside, property, okClose := strings.Cut(rest, "]")
	property, okDot := strings.CutPrefix(trim(property), ".")
	kind, x.property = trim(kind), trim(property)
	if !okOpen || !okClose || !okDot || x.property == "" || kind != "rules" && kind != "teams" {
		o.bad("target", BadExpansionTarget, "must be rules[name].property or teams[name].property")
		return
	}
	for name := range strings.SplitSeq(inside, ",") {
		if kind == "teams" {
			s.targetTeam(o, x, trim(name))
		} else {
			s.targetRule(o, x, trim(name))
		}
	}
}

func (s *scope) targetTeam(o object, x *expansion, name string) {
	if x.property != "minPlayers" && x.property != "maxPlayers" {
		o.bad("target", BadExpansionTarget, "of teams only minPlayers and maxPlayers can change, not %q", x.property)
	}
	if name == "*" {
		for i := range s.rs.Teams {
			x.teams = append(x.teams, i)
		}
		return
	}
	i := s.rs.team(name)
	if i < 0 {
		o.bad("target", BadExpansionTarget, "no team %q is declared", name)
		return
	}
	x.teams = append(x.teams, i)
}

func (s *scope) targetRule(o object, x *expansion, name string) {
	i := slices.IndexFunc(s.drafts, func(d draft) bool { return d.rule.Name == name })
	if i < 0 {
		o.bad("target", BadExpansionTarget, "no rule %q is declared", name)
		return
	}
	t := s.drafts[i].rule.Type
	switch {
	case t == Compound:
		o.bad("target", ExpansionCompound, "rule %q is a compound; expand the rules that it names", name)
	case t != "" && !slices.Contains(expandable(t), x.property):
		o.bad("target", BadExpansionTarget, "of %s rules only these can change: %s; not %q", t, strings.Join(expandable(t), ", "), x.property)
	}
	x.rules = append(x.rules, i)
}

// expandable returns the properties that may change: all but those that identify a rule
// or select what it measures.
func expandable(t RuleType) []string {
	return slices.DeleteFunc(slices.Clone(properties(t)), func(p string) bool {
		return slices.Contains([]string{"measurements", "batchAttribute", "sortAttribute", "statement"}, p)
	})
}
