package lab

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/flexmatch/lint"
	"github.com/musterhq/muster/flexmatch/ruleset"
)

// Checked is what is known of a rule set.
type Checked struct {
	Valid      bool        `json:"valid"`
	Errors     []Problem   `json:"errors"`
	Warnings   []Problem   `json:"warnings"`
	Teams      []Team      `json:"teams"` // this and the following are empty if it is not valid
	Rules      []Rule      `json:"rules"`
	Attributes []Attribute `json:"attributes"`
	Levels     []Level     `json:"levels"`
	Latency    bool        `json:"latency"` // players must report latencies
}

// Problem is something wrong or doubtful at a place.
type Problem struct {
	Line    int    `json:"line"`             // from 1
	Column  int    `json:"column"`           // in characters, from 1
	Code    string `json:"code,omitzero"`    // of an error
	Kind    string `json:"kind,omitzero"`    // of what is doubtful (lint.Kind)
	Member  string `json:"member,omitzero"`  // such as rules[2].maxDistance
	Message string `json:"message,omitzero"` // what the rule is that is broken
}

// Team is a declaration of teams.
type Team struct {
	Name     string `json:"name"`
	Min      int    `json:"min"`
	Max      int    `json:"max"`
	Quantity int    `json:"quantity"`
}

// Rule is a rule and where it stands.
type Rule struct {
	Name  string   `json:"name"`
	Type  string   `json:"type"`
	Line  int      `json:"line"`
	Limit *float64 `json:"limit,omitzero"`
}

// Attribute is a declared player attribute.
type Attribute struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Default any      `json:"default,omitzero"`
	Words   []string `json:"words"` // constants in the rule set that it may be compared with

	// Weights is how often players have which word, where rules count the players of a team
	// who have one, so that teams can be formed: nil if none does.
	Weights map[string]float64 `json:"weights,omitzero"`
}

// Level is an age from which other values apply.
type Level struct {
	From    float64  `json:"from_seconds"`
	Least   int      `json:"least"` // players in a match
	Most    int      `json:"most"`
	Changes []Change `json:"changes"` // from the level before
}

// Change is a value that a level changes.
type Change struct {
	What string   `json:"what"` // a rule or a team
	Line int      `json:"line"`
	Old  *float64 `json:"old,omitzero"` // nil if it is no single number
	New  *float64 `json:"new,omitzero"`
}

// Check says what is wrong with a body, what is doubtful in it, and what it does as matches age.
func Check(body string) *Checked {
	out := &Checked{Errors: []Problem{}, Warnings: []Problem{}, Teams: []Team{}, Rules: []Rule{}, Attributes: []Attribute{}, Levels: []Level{}}
	rs, err := ruleset.Parse(body)
	var wrong ruleset.Errors
	if errors.As(err, &wrong) {
		for _, e := range wrong {
			out.Errors = append(out.Errors, Problem{Line: e.Line, Column: e.Column, Code: string(e.Code), Member: e.Path, Message: e.Message})
		}
		return out
	}
	out.Valid, out.Latency = true, rs.HasLatency
	t := text(body)
	for _, team := range rs.Teams {
		out.Teams = append(out.Teams, Team{team.Name, team.Min, team.Max, team.Quantity})
	}
	for _, r := range rs.Level(0).Rules {
		rule := Rule{Name: r.Name, Type: r.Type, Line: r.At.Line}
		if limit := r.Limit(); limit.Set {
			rule.Limit = &limit.Value
		}
		out.Rules = append(out.Rules, rule)
	}
	for i, a := range rs.Attributes {
		out.Attributes = append(out.Attributes, Attribute{Name: a.Name, Type: string(a.Type), Default: defaultOf(a), Words: t.constants(a.Name), Weights: weights(rs, i)})
	}
	out.levels(rs)
	for _, f := range lint.Check(rs) {
		out.Warnings = append(out.Warnings, Problem{Line: f.At.Line, Column: f.At.Column, Kind: string(f.Kind), Member: f.Member, Message: f.Text})
	}
	return out
}

func defaultOf(a ruleset.Attribute) any {
	if a.Default == nil {
		return nil
	}
	switch a.Type {
	case ruleset.Number:
		return a.Default.Number
	case ruleset.String:
		return a.Default.String
	case ruleset.StringSet:
		return a.Default.Strings
	case ruleset.NumberMap:
		return a.Default.Map
	}
	return nil
}

// elsewise is the word of drawn players whom no rule counts, if the attribute has no default.
const elsewise = "other"

// weights returns how many players of a team have which word of an attribute by the rules that
// count them, in the middle of their limits, or nil if there is none.
func weights(rs *ruleset.RuleSet, attribute int) map[string]float64 {
	level := rs.Level(0)
	out, size := map[string]float64{}, 0
	for _, r := range level.Rules {
		c, ok := r.Counts()
		if !ok || !r.Enforced {
			continue
		}
		if of, _ := c.Attribute(); of != attribute {
			continue
		}
		for _, team := range c.Instances {
			size = max(size, level.Sizes[team].Max)
		}
		least, most := c.Least(), max(c.Least(), 1)
		if m, limited := c.Most(); limited {
			most = m
		}
		out[c.Text] = max(out[c.Text], float64(least+most)/2)
	}
	if len(out) == 0 {
		return nil
	}
	left := float64(size)
	for _, n := range out {
		left -= n
	}
	maps.DeleteFunc(out, func(_ string, n float64) bool { return n == 0 }) // nobody may have it
	rest := elsewise
	if d := rs.Attributes[attribute].Default; d != nil && d.String != "" {
		rest = d.String
	}
	if _, counted := out[rest]; !counted && left > 0 {
		out[rest] = left
	}
	return out
}

// levels describes the levels.
func (c *Checked) levels(rs *ruleset.RuleSet) {
	levels := rs.Levels()
	for i, l := range levels {
		level := Level{From: l.From.Seconds(), Least: l.Least(), Most: l.Capacity(), Changes: []Change{}}
		if i > 0 {
			level.Changes = changes(rs, levels[i-1], l)
		}
		c.Levels = append(c.Levels, level)
	}
}

// changes returns what a level changes.
func changes(rs *ruleset.RuleSet, before, l *ruleset.Level) []Change {
	out := []Change{}
	for i, r := range l.Rules {
		if r == before.Rules[i] {
			continue
		}
		change := Change{What: r.Name, Line: r.At.Line}
		a, b := before.Rules[i].Limit(), r.Limit()
		if a.Set && b.Set {
			change.Old, change.New = &a.Value, &b.Value
		}
		out = append(out, change)
	}
	for i, size := range l.Sizes {
		if old := before.Sizes[i]; old != size {
			team := &rs.Teams[rs.Instances[i].Team]
			name := team.Name
			if slices.ContainsFunc(out, func(c Change) bool { return c.What == name }) {
				continue // another team of the same declaration
			}
			from, to := float64(old.Min), float64(size.Min)
			if old.Min == size.Min {
				from, to = float64(old.Max), float64(size.Max)
			}
			out = append(out, Change{What: name, Line: team.At.Line, Old: &from, New: &to})
		}
	}
	return out
}

// text is the body of a rule set.
type text string

// constants returns the strings with which rules compare an attribute.
func (t text) constants(attribute string) []string {
	var root struct {
		Rules []struct {
			Measurements   json.RawMessage `json:"measurements"`
			ReferenceValue any             `json:"referenceValue"`
		} `json:"rules"`
	}
	out := []string{}
	if json.Unmarshal([]byte(t), &root) != nil { // with comments it is no JSON
		return out
	}
	add := func(v any) {
		if s, ok := v.(string); ok && !strings.ContainsAny(s, "[(") && !slices.Contains(out, s) { // no expression
			out = append(out, s)
		}
	}
	for _, r := range root.Rules {
		if !strings.Contains(string(r.Measurements), attribute) {
			continue
		}
		if list, ok := r.ReferenceValue.([]any); ok {
			for _, v := range list {
				add(v)
			}
			continue
		}
		add(r.ReferenceValue)
	}
	return out
}
