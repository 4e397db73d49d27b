package ruleset

import (
	"fmt"
	"reflect"
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

// expansions reads the list of expansions, then resolves the levels. Errors in values are
// reported in the order of the list, those about sizes last.
func (s *scope) expansions(root object) {
	var list []*expansion
	items := root.list("expansions")
	for i, item := range items {
		before := len(s.errs)
		o, ok := s.object(item, at("expansions", i))
		if !ok {
			continue
		}
		x := s.expansion(o)
		x.number = i
		if len(s.errs) == before {
			list = append(list, x)
		}
	}
	s.levels(list, len(items))
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

// longest caps wait times. No ticket waits nearly as long.
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
		o.bad("target", BadExpansionTarget, "no team %q is declared%s", name, like(name, s.rs.teamNames()))
		return
	}
	x.teams = append(x.teams, i)
}

func (s *scope) targetRule(o object, x *expansion, name string) {
	i := slices.IndexFunc(s.drafts, func(d draft) bool { return d.rule.Name == name })
	if i < 0 {
		o.bad("target", BadExpansionTarget, "no rule %q is declared%s", name, like(name, namesOf(s.drafts)))
		return
	}
	typ, t := s.drafts[i].rule.Type, s.drafts[i].typ
	switch {
	case t == nil: // reported already
	case len(t.expandable()) == 0:
		o.bad("target", ExpansionCompound, "rule %q is a %s; expand the rules that it names", name, typ)
	case !slices.Contains(t.expandable(), x.property):
		o.bad("target", BadExpansionTarget, "of %s rules only these can change: %s; not %q", typ, strings.Join(t.expandable(), ", "), x.property)
	}
	x.rules = append(x.rules, i)
}

// change is a property's value at a level and the step that sets it.
type change struct {
	step
	number   int // the expansion's
	property string
}

type resolver struct {
	*scope
	ofRule [][]*expansion // by rule
	ofTeam [][]*expansion // by declaration
	wrong  [][]Error      // by expansion; then those about the sizes of teams
}

func (s *scope) levels(list []*expansion, declared int) {
	r := &resolver{scope: s, ofRule: make([][]*expansion, len(s.drafts)), ofTeam: make([][]*expansion, len(s.rs.Teams)), wrong: make([][]Error, declared+1)}
	ages := []time.Duration{0}
	for _, x := range list {
		for _, i := range x.rules {
			r.ofRule[i] = append(r.ofRule[i], x)
		}
		for _, i := range x.teams {
			r.ofTeam[i] = append(r.ofTeam[i], x)
		}
		for _, step := range x.steps {
			ages = append(ages, step.wait)
		}
	}
	slices.Sort(ages)
	var last *Level
	for _, from := range slices.Compact(ages) {
		last = r.level(from, last)
		s.rs.levels = append(s.rs.levels, last)
	}
	s.errs = slices.Concat(append([][]Error{s.errs}, r.wrong...)...)
	if len(s.errs) == 0 {
		for _, x := range list {
			r.steps(x)
		}
	}
}

// Step is a step of an expansion, for one of its targets.
type Step struct {
	At       Position // of its value
	Path     string   // such as expansions[0].steps[1].value
	From     time.Duration
	Rule     int // the rule's index, or -1
	Team     int // the declared team's index, or -1
	Property string

	// Was and Is are the values before and from the step on: a float64, a string or a []string, or
	// nil if the property is not set.
	Was, Is any

	Beaten bool // another step sets the property at the same age, and counts instead
	Idle   bool // the step changes nothing
}

// steps adds the steps of an expansion.
func (r *resolver) steps(x *expansion) {
	for _, st := range x.steps {
		add := func(rule, team int, base *node, all []*expansion) {
			out := Step{At: r.placeOf(st.value.at), Path: st.path, From: st.wait, Rule: rule, Team: team, Property: x.property}
			was, is := base, st.value
			for _, c := range changesAt(st.wait-1, all) {
				if c.property == x.property {
					was = c.value
				}
			}
			for _, c := range changesAt(st.wait, all) {
				if c.property == x.property {
					out.Beaten, is = c.path != st.path, c.value
				}
			}
			out.Was, out.Is = was.plain(), is.plain()
			out.Idle = out.Beaten || reflect.DeepEqual(out.Was, out.Is) || rule >= 0 && r.sameKind(rule, st.wait)
			r.rs.Steps = append(r.rs.Steps, out)
		}
		for _, i := range x.rules {
			add(i, -1, r.drafts[i].at.get(x.property), r.ofRule[i])
		}
		for _, i := range x.teams {
			size := r.rs.Teams[i].Min
			if x.property == "maxPlayers" {
				size = r.rs.Teams[i].Max
			}
			add(-1, i, &node{kind: isNumber, number: float64(size)}, r.ofTeam[i])
		}
	}
}

// sameKind reports whether a rule means the same before and from an age on.
func (r *resolver) sameKind(rule int, from time.Duration) bool {
	before := r.drafts[rule].rule
	if at := r.rs.LevelAt(from); at > 0 {
		before = r.rs.levels[at-1].Rules[rule]
	}
	return reflect.DeepEqual(before.kind, r.rs.Level(from).Rules[rule].kind)
}

// plain returns the value of a property: a number, also one in quotes, a string or a list of
// strings; nil if it is not there or of another type.
func (n *node) plain() any {
	if n == nil {
		return nil
	}
	if v, ok := n.asNumber(); ok {
		return v
	}
	if n.kind == isText {
		return n.text
	}
	if list, ok := n.asStrings(); ok {
		return list
	}
	return nil
}

func (r *resolver) level(from time.Duration, last *Level) *Level {
	l := &Level{From: from}
	for i, d := range r.drafts {
		changes := changesAt(from, r.ofRule[i])
		switch {
		case d.bad || len(changes) == 0:
			l.Rules = append(l.Rules, d.rule)
		case last != nil && !slices.ContainsFunc(changes, func(c change) bool { return c.wait == from }):
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

// changesAt returns the values in force at an age. Of several steps for one property the
// one reached last counts; of two reached together, the later in the list.
func changesAt(from time.Duration, list []*expansion) []change {
	var out []change
	for _, x := range list {
		for _, step := range x.steps {
			if step.wait > from {
				break
			}
			same := slices.IndexFunc(out, func(c change) bool { return c.property == x.property })
			switch {
			case same < 0:
				out = append(out, change{step, x.number, x.property})
			case step.wait >= out[same].wait:
				out[same] = change{step, x.number, x.property}
			}
		}
	}
	return out
}

// rule reads a rule again with the values of the level.
func (r *resolver) rule(d draft, changes []change, from time.Duration) *Rule {
	scratch := &scope{checker: &checker{text: r.text}, rs: r.rs, drafts: r.drafts}
	rule := scratch.rule(object{checker: scratch.checker, node: d.at.with(changes), path: d.at.path})
	rule.At = d.rule.At
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
	r.wrong[number] = append(r.wrong[number], Error{Code: BadExpansionValue, Line: line, Column: column, Path: s.path, Message: text})
}

func (r *resolver) sizes(l *Level) {
	byTeam := make([]Size, len(r.rs.Teams))
	var last *step // the last step that starts at this level
	for i := range r.rs.Teams {
		fresh := r.resized(i, &byTeam[i], l.From)
		if fresh == nil {
			continue
		}
		last = fresh
		if byTeam[i].Min > byTeam[i].Max {
			r.note(len(r.wrong)-1, *fresh, fmt.Sprintf("team %q then needs %d players and has room for %d", r.rs.Teams[i].Name, byTeam[i].Min, byTeam[i].Max))
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
		r.note(len(r.wrong)-1, *last, fmt.Sprintf("the teams then hold %d players; a match of this size class has at most %d", l.Capacity(), limit))
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
		if ok {
			*target = v
		}
		if c.wait == from {
			fresh = &c.step
			if !ok {
				r.note(c.number, c.step, fmt.Sprintf("must be a whole number of at least %d", low))
			}
		}
	}
	return fresh
}

// namesOf returns the names of rules.
func namesOf(rules []draft) (names []string) {
	for _, d := range rules {
		names = append(names, d.rule.Name)
	}
	return names
}
