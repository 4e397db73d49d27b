package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/internal/plain"
)

// obstacle is why there is no match at a level.
type obstacle struct {
	rule int // that is named first
	text string
}

// impossible finds rules, and rules together, that no match passes: ever, or at the ages of some
// levels.
func (c *checked) impossible() {
	levels := c.rs.Levels()
	at := map[int][]bool{} // by rule, then level
	first := map[int]string{}
	for n, l := range levels {
		for _, o := range c.obstacles(l) {
			if at[o.rule] == nil {
				at[o.rule], first[o.rule] = make([]bool, len(levels)), o.text
			}
			at[o.rule][n] = true
		}
	}
	for i := range levels[0].Rules {
		if at[i] != nil {
			c.rule(Impossible, i, "%s: %s", first[i], when(levels, at[i]))
		}
	}
}

// when says at which ages no match is possible.
func when(levels []*ruleset.Level, at []bool) string {
	from := slices.Index(at, true)
	until := from + slices.Index(append(at[from:len(at):len(at)], false), false)
	switch {
	case from == 0 && until == len(at):
		return "no match is possible"
	case from == 0:
		return fmt.Sprintf("no match is possible before %s", levels[until].From)
	case until == len(at):
		return fmt.Sprintf("no match is possible from %s on", levels[from].From)
	}
	return fmt.Sprintf("no match is possible from %s until %s", levels[from].From, levels[until].From)
}

// obstacles returns why there is no match at a level.
func (c *checked) obstacles(l *ruleset.Level) (out []obstacle) {
	for i, r := range l.Rules {
		if !r.Enforced {
			continue
		}
		if v, why := l.Certain(i); v == ruleset.Never {
			out = append(out, obstacle{i, "no match passes it: " + why})
		}
	}
	for team := range l.Sizes {
		out = append(out, c.unfillable(l, team)...)
	}
	return append(append(out, c.ofMatch(l)...), c.disjoint(l)...)
}

// limits are what the rules about counts say together of one string in one team, or in the match.
type limits struct {
	least, most     int
	leastBy, mostBy *search.Counted
	attribute       int
	text            string
}

// limitsOf joins the rules about counts that some function selects.
func limitsOf(rules []search.Counted, room int, selected func(*search.Counted) bool) (out []limits) {
	for i := range rules {
		of := &rules[i]
		if !selected(of) {
			continue
		}
		at := slices.IndexFunc(out, func(o limits) bool { return o.leastBy.Same(&of.Counts) })
		if at < 0 {
			at = len(out)
			attribute, _ := of.Attribute()
			out = append(out, limits{0, room, of, of, attribute, of.Text})
		}
		o := &out[at]
		if n := of.Least(); n > o.least {
			o.least, o.leastBy = n, of
		}
		if n, limited := of.Most(); limited && n < o.most {
			o.most, o.mostBy = n, of
		}
	}
	return out
}

// unfillable returns why a team that may not be empty cannot be filled.
func (c *checked) unfillable(l *ruleset.Level, team int) (out []obstacle) {
	size, name := l.Sizes[team], c.rs.Instances[team].Name
	if size.Min == 0 {
		return nil
	}
	var lacks search.Demand
	rules := search.CountsAt(l)
	for i := range rules {
		if of := &rules[i]; slices.Contains(of.Instances, team) {
			lacks.Add(of, 0, of.Least())
		}
	}
	if n, s := lacks.Least(); n > size.Max {
		text := fmt.Sprintf("team %s needs %s with %q", name, plain.Count(s.Needs, "player"), s.String)
		if others := n - s.Needs; others > 0 {
			text += fmt.Sprintf(" and %d with others by further rules", others)
		}
		out = append(out, obstacle{named(l, s.Rule), text + fmt.Sprintf(", and has room for %d", size.Max)})
	}
	for _, o := range limitsOf(rules, size.Max, func(of *search.Counted) bool { return slices.Contains(of.Instances, team) }) {
		if o.least > o.most && o.most < size.Max {
			out = append(out, obstacle{o.leastBy.Number, fmt.Sprintf("team %s needs %s with %q, and the rule %s allows %d", name, plain.Count(o.least, "player"), o.text, o.mostBy.Name, o.most)})
		}
	}
	return out
}

// named returns the index of a rule.
func named(l *ruleset.Level, name string) int {
	return slices.IndexFunc(l.Rules, func(r *ruleset.Rule) bool { return r.Name == name })
}

// ofMatch returns why the rules about how many players of the match have a string cannot be
// fulfilled, with the sizes of teams and with the rules about single teams.
func (c *checked) ofMatch(l *ruleset.Level) (out []obstacle) {
	all := search.AllCountsAt(l)
	var lacks search.Demand
	for i := range all {
		if of := &all[i]; of.Whole {
			lacks.Add(of, 0, of.Least())
		}
	}
	if n, s := lacks.Least(); n > l.Capacity() {
		out = append(out, obstacle{named(l, s.Rule), fmt.Sprintf("the match needs %d players by the rules about %q and others, and has room for %d", n, s.String, l.Capacity())})
	}
	for _, o := range limitsOf(all, l.Capacity(), func(of *search.Counted) bool { return of.Whole && len(of.Instances) == len(l.Sizes) }) {
		least, most := 0, 0 // that the rules about teams need and allow
		var leastBy, mostBy *search.Counted
		for team, size := range l.Sizes {
			teams := limitsOf(all, size.Max, func(of *search.Counted) bool {
				return !of.Whole && slices.Contains(of.Instances, team) && of.Same(&o.leastBy.Counts)
			})
			if len(teams) == 0 {
				most += size.Max
				continue
			}
			most, mostBy = most+min(size.Max, teams[0].most), cmp.Or(mostBy, teams[0].mostBy)
			if size.Min > 0 {
				least, leastBy = least+teams[0].least, cmp.Or(leastBy, teams[0].leastBy)
			}
		}
		switch {
		case o.least > o.most && o.most < l.Capacity():
			out = append(out, obstacle{o.leastBy.Number, fmt.Sprintf("the match needs %s with %q, and the rule %s allows %d", plain.Count(o.least, "player"), o.text, o.mostBy.Name, o.most)})
		case o.least > most && mostBy != nil:
			out = append(out, obstacle{o.leastBy.Number, fmt.Sprintf("the match needs %s with %q, and by the rule %s its teams take %d", plain.Count(o.least, "player"), o.text, mostBy.Name, most)})
		case o.most < least && leastBy != nil:
			out = append(out, obstacle{o.mostBy.Number, fmt.Sprintf("the match may have %s with %q, and by the rule %s its teams need %d", plain.Count(o.most, "player"), o.text, leastBy.Name, least)})
		}
	}
	return out
}

// disjoint returns rules about the value of each player, of which no value fulfills all: in one
// team that may not be empty, or in two whose values must be equal or near each other.
func (c *checked) disjoint(l *ruleset.Level) (out []obstacle) {
	for attribute := range c.rs.Attributes {
		var teams []ruleset.Values
		for team, size := range l.Sizes {
			if size.Min == 0 {
				continue
			}
			v := ruleset.AnyValue
			for i, r := range l.Rules {
				if !r.Enforced {
					continue
				}
				of, ok := r.Values(attribute, team)
				if !ok {
					continue
				}
				both := v.And(of, i)
				if both.Empty() && v.By < 0 {
					continue // it is impossible alone
				}
				if both.Empty() {
					out = append(out, obstacle{i, fmt.Sprintf("no value of %s fulfills both it and the rule %s", c.rs.Attributes[attribute].Name, l.Rules[v.By].Name)})
					return out
				}
				v = both
			}
			teams = append(teams, v)
		}
		out = append(out, c.apart(l, attribute, teams)...)
	}
	return out
}

// apart returns a rule by which the values of teams must be equal or near, and are not.
func (c *checked) apart(l *ruleset.Level, attribute int, teams []ruleset.Values) []obstacle {
	for i, r := range l.Rules {
		if !r.Enforced {
			continue
		}
		for n, a := range teams {
			for _, b := range teams[:n] {
				if a.By < 0 || b.By < 0 || !r.Parts(attribute, a, b) {
					continue
				}
				return []obstacle{{i, fmt.Sprintf("no values of %s fulfill both it and the rules %s and %s", c.rs.Attributes[attribute].Name, l.Rules[b.By].Name, l.Rules[a.By].Name)}}
			}
		}
	}
	return nil
}
