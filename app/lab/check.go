package lab

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/flexmatch/explain"
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

// Check says what is wrong with a body, what is doubtful in it, and what it does as matches
// age.
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
		rule := Rule{Name: r.Name, Type: r.Type}
		rule.Line, _ = t.named(r.Name)
		if limit := r.Limit(); limit.Set {
			rule.Limit = &limit.Value
		}
		out.Rules = append(out.Rules, rule)
	}
	for i, a := range rs.Attributes {
		out.Attributes = append(out.Attributes, Attribute{Name: a.Name, Type: string(a.Type), Default: defaultOf(a), Words: t.constants(a.Name), Weights: weights(rs, i)})
	}
	out.levels(rs, t)
	out.unused(rs, t)
	for _, c := range explain.Impossible(rs) {
		line, column := t.named(c.Name)
		out.warn(line, column, "rules[%s]: %s", c.Name, c.Text)
	}
	slices.SortStableFunc(out.Warnings, func(a, b Problem) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
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

// levels describes the levels, and warns of steps that change nothing or make a rule
// stricter.
func (c *Checked) levels(rs *ruleset.RuleSet, t text) {
	levels := rs.Levels()
	for i, l := range levels {
		level := Level{From: l.From.Seconds(), Least: l.Least(), Most: l.Capacity(), Changes: []Change{}}
		if i > 0 {
			level.Changes = c.changes(rs, levels[i-1], l, t)
		}
		c.Levels = append(c.Levels, level)
	}
}

// changes returns what a level changes.
func (c *Checked) changes(rs *ruleset.RuleSet, before, l *ruleset.Level, t text) []Change {
	out := []Change{}
	for i, r := range l.Rules {
		if r == before.Rules[i] {
			continue
		}
		line, column := t.named(r.Name)
		change := Change{What: r.Name, Line: line}
		a, b := before.Rules[i].Limit(), r.Limit()
		if a.Set && b.Set {
			change.Old, change.New = &a.Value, &b.Value
		}
		out = append(out, change)
		switch at := seconds(l.From.Seconds()); {
		case r.Type == "batchDistance" && a == b:
			c.warn(line, column, "rules[%s]: the step at %s changes nothing", r.Name, at)
		case a.Set && b.Set && stricter(r, a.Value, b.Value):
			c.warn(line, column, "rules[%s]: the step at %s makes the rule stricter, from %v to %v: the longer players wait, the fewer can be matched", r.Name, at, a.Value, b.Value)
		}
	}
	for i, size := range l.Sizes {
		if old := before.Sizes[i]; old != size {
			name := rs.Teams[rs.Instances[i].Team].Name
			line, _ := t.named(name)
			if slices.ContainsFunc(out, func(c Change) bool { return c.What == name }) {
				continue // another team of the same declaration
			}
			from, to := float64(old.Min), float64(size.Min)
			if old.Min == size.Min {
				from, to = float64(old.Max), float64(size.Max)
			}
			out = append(out, Change{What: name, Line: line, Old: &from, New: &to})
		}
	}
	return out
}

// stricter reports whether a lower limit admits less. Of types with limits in both
// directions nothing is said.
func stricter(r *ruleset.Rule, before, now float64) bool {
	return (r.Type == "batchDistance" || r.Type == "distance" || r.Type == "latency") && now < before
}

// unused warns of attributes that no rule reads, and of latencies that players need.
func (c *Checked) unused(rs *ruleset.RuleSet, t text) {
	all := make([]int, len(rs.Level(0).Rules))
	for i := range all {
		all[i] = i
	}
	reads := rs.Reads(all)
	for i, a := range rs.Attributes {
		if reads.Attributes[i] || strings.Count(string(t), a.Name) > 1 { // the algorithm may name it
			continue
		}
		line, column := t.named(a.Name)
		c.warn(line, column, "playerAttributes: no rule reads %s", a.Name)
	}
}

func (c *Checked) warn(line, column int, format string, args ...any) {
	c.Warnings = append(c.Warnings, Problem{Line: line, Column: column, Message: fmt.Sprintf(format, args...)})
}

func seconds(s float64) string {
	return strconv.FormatFloat(math.Round(s*1000)/1000, 'f', -1, 64) + " s"
}

// text is the body of a rule set.
type text string

// named returns the position at which the text names something, or that of the first character.
func (t text) named(name string) (line, column int) {
	quoted, err := json.Marshal(name)
	if err != nil {
		return 1, 1
	}
	at := regexp.MustCompile(`"name"\s*:\s*` + regexp.QuoteMeta(string(quoted))).FindStringIndex(string(t))
	if at == nil {
		return 1, 1
	}
	before := string(t[:at[0]])
	return 1 + strings.Count(before, "\n"), 1 + len([]rune(before[strings.LastIndexByte(before, '\n')+1:]))
}

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
