package ruleset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Level is the sizes and rules that apply to matches from an age on, with every expansion
// resolved.
type Level struct {
	From  time.Duration
	Sizes []Size  // by instance
	Rules []*Rule // by index; equal pointers at two levels mean equal rules
}

// Capacity returns the sum of the maximum team sizes.
func (l *Level) Capacity() int {
	total := 0
	for _, size := range l.Sizes {
		total += size.Max
	}
	return total
}

// Least returns the sum of the minimum team sizes.
func (l *Level) Least() int {
	total := 0
	for _, size := range l.Sizes {
		total += size.Min
	}
	return total
}

// change is a property's value at a level and the step that sets it.
type change struct {
	step
	number   int // the expansion's
	property string
}

// resolver builds the levels. It groups errors by expansion and reports them in the order
// of the list, those about sizes last.
type resolver struct {
	*scope
	ofRule [][]*expansion // by rule
	ofTeam [][]*expansion // by declaration
	wrong  []placed
}

type placed struct {
	number int
	err    Error
}

// afterAll is the number of errors that are reported after those of every expansion.
const afterAll = 1 << 30

func (s *scope) levels(list []*expansion) {
	r := &resolver{scope: s, ofRule: make([][]*expansion, len(s.drafts)), ofTeam: make([][]*expansion, len(s.rs.Teams))}
	for _, x := range list {
		for _, i := range x.rules {
			r.ofRule[i] = append(r.ofRule[i], x)
		}
		for _, i := range x.teams {
			r.ofTeam[i] = append(r.ofTeam[i], x)
		}
	}
	var last *Level
	for _, from := range breakpoints(list) {
		last = r.level(from, last)
		s.rs.levels = append(s.rs.levels, last)
	}
	slices.SortStableFunc(r.wrong, func(a, b placed) int { return cmp.Compare(a.number, b.number) })
	for _, w := range r.wrong {
		s.errs = append(s.errs, w.err)
	}
}

// breakpoints returns age 0 and every distinct wait time, ascending.
func breakpoints(list []*expansion) []time.Duration {
	out := []time.Duration{0}
	for _, x := range list {
		for _, step := range x.steps {
			out = append(out, step.wait)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (r *resolver) level(from time.Duration, last *Level) *Level {
	l := &Level{From: from}
	for i, d := range r.drafts {
		changes := changesAt(from, r.ofRule[i])
		switch {
		case d.bad || len(changes) == 0:
			l.Rules = append(l.Rules, d.rule)
		case last != nil && !begins(changes, from):
			l.Rules = append(l.Rules, last.Rules[i])
		default:
			l.Rules = append(l.Rules, r.rule(d, changes, from))
		}
	}
	if r.sized {
		r.sizes(l)
	}
	return l
}

// begins reports whether one of the changes starts at the age.
func begins(changes []change, from time.Duration) bool {
	return slices.ContainsFunc(changes, func(c change) bool { return c.wait == from })
}

// changesAt returns the values in force at an age. Of several steps for one property the
// one reached last counts; of two reached together, the later in the list.
func changesAt(from time.Duration, list []*expansion) []change {
	var out []change
	for _, x := range list {
		i := slices.IndexFunc(x.steps, func(s step) bool { return s.wait > from })
		if i < 0 {
			i = len(x.steps)
		}
		if i == 0 {
			continue
		}
		c := change{step: x.steps[i-1], number: x.number, property: x.property}
		same := slices.IndexFunc(out, func(o change) bool { return o.property == c.property })
		switch {
		case same < 0:
			out = append(out, c)
		case c.wait >= out[same].wait:
			out[same] = c
		}
	}
	return out
}

// rule reads a rule again with the values of the level.
func (r *resolver) rule(d draft, changes []change, from time.Duration) *Rule {
	values := map[string]*node{}
	for _, c := range changes {
		values[c.property] = c.value
	}
	scratch := &scope{checker: &checker{text: r.text, ignore: r.ignore}, rs: r.rs, drafts: r.drafts}
	rule := scratch.rule(object{checker: scratch.checker, node: d.at.with(values), path: d.at.path})
	rule.Enforced = d.rule.Enforced
	for _, e := range scratch.errs {
		r.blame(e, changes, from)
	}
	return rule
}

// blame attributes an error to a step: the one whose property the error is about, else
// one that starts at this age.
func (r *resolver) blame(e Error, changes []change, from time.Duration) {
	guilty := slices.IndexFunc(changes, func(c change) bool { return strings.HasSuffix(e.Path, "."+c.property) })
	if guilty < 0 {
		guilty = max(0, slices.IndexFunc(changes, func(c change) bool { return c.wait == from }))
	}
	c := changes[guilty]
	if c.wait == from {
		r.note(c.number, c.step, strings.TrimPrefix(e.Path+": ", ": ")+e.Message)
	}
}

func (r *resolver) note(number int, s step, text string) {
	line, column := r.position(s.value.at)
	r.wrong = append(r.wrong, placed{number, Error{Code: BadExpansionValue, Line: line, Column: column, Path: s.path, Message: text}})
}

// sizes sets the sizes of the level and checks them.
func (r *resolver) sizes(l *Level) {
	byTeam := make([]Size, len(r.rs.Teams))
	var last *step // the last step that starts at this level
	for i := range r.rs.Teams {
		fresh := r.resized(i, &byTeam[i], l.From)
		if fresh == nil {
			continue
		}
		if last = fresh; byTeam[i].Min > byTeam[i].Max {
			r.note(afterAll, *fresh, fmt.Sprintf("team %q then needs %d players and has room for %d", r.rs.Teams[i].Name, byTeam[i].Min, byTeam[i].Max))
		}
	}
	for _, instance := range r.rs.Instances {
		l.Sizes = append(l.Sizes, byTeam[instance.Team])
	}
	limit := MaxSmall
	if r.rs.Large {
		limit = MaxLarge
	}
	if last != nil && l.Capacity() > limit {
		r.note(afterAll, *last, fmt.Sprintf("the teams then hold %d players; a match of this size class has at most %d", l.Capacity(), limit))
	}
}

// resized sets a team's size at an age. It returns the step that starts at that age, or
// nil.
func (r *resolver) resized(team int, size *Size, from time.Duration) (fresh *step) {
	t := r.rs.Teams[team]
	*size = Size{t.Min, t.Max}
	for _, c := range changesAt(from, r.ofTeam[team]) {
		low, target := 0, &size.Min
		if c.property == "maxPlayers" {
			low, target = 1, &size.Max
		}
		v, ok := c.value.asWhole(low, 1e6)
		switch {
		case ok:
			*target = v
		case c.wait == from:
			r.note(c.number, c.step, fmt.Sprintf("must be a whole number of at least %d", low))
		}
		if c.wait == from {
			fresh = &c.step
		}
	}
	return fresh
}
