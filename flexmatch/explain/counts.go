package explain

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/internal/plain"
)

// misfits returns the rules about counts by which no team can take a ticket's players at a
// level, or nil if a team can.
func (w *world) misfits(at int, o *search.Candidate) (causes []Cause) {
	for _, m := range w.rules.Misfits(at, o) {
		who := "of its " + plain.Count(m.Players, "player")
		if o.Party.Individuals {
			who = "of the " + plain.Count(m.Players, "player") + " in team " + w.rs.Instances[m.Team].Name
		}
		text := fmt.Sprintf("%d %s have %q, and the rule %s allows %d in a team", m.Has, who, m.String, m.Rule, m.Most)
		if m.Needs > 0 {
			text = fmt.Sprintf("%d %s have %q, the rule %s needs %d in a team, and beside them a team has room for %d", m.Has, who, m.String, m.Rule, m.Needs, m.Free)
		}
		causes = append(causes, Cause{Code: BreaksRule, Name: m.Rule, Text: text})
	}
	return causes
}

// headcount is how many players of each team count for each rule about counts.
type headcount struct {
	rules []search.Counted
	teams [][]int // by rule and team
}

// countTeams counts the players that a lineup places.
func (c *group) countTeams(l *ruleset.Lineup) *headcount {
	h := &headcount{rules: c.rules.Counts[c.level]}
	for i := range h.rules {
		teams := make([]int, len(l.Teams))
		for team, members := range l.Teams {
			for _, m := range members {
				if h.rules[i].Has(m.Party, m.Index) {
					teams[team]++
				}
			}
		}
		h.teams = append(h.teams, teams)
	}
	return h
}

// allow reports whether a team has at most as many players as the rules allow if a party
// joins it.
func (h *headcount) allow(p *ruleset.Party, team int) bool {
	for i := range h.rules {
		c := &h.rules[i]
		if most, limited := c.Most(); limited && slices.Contains(c.Instances, team) && h.teams[i][team]+c.Of(p) > most {
			return false
		}
	}
	return true
}

// add counts a party that joins a team.
func (h *headcount) add(p *ruleset.Party, team int) {
	for i := range h.rules {
		h.teams[i][team] += h.rules[i].Of(p)
	}
}

// Impossible returns the rules about counts by which a rule set forms no match: until an
// expansion step, or ever.
func Impossible(rs *ruleset.RuleSet) (causes []Cause) {
	for team, in := range rs.Instances {
		cause, until := Cause{}, 0
		for until < len(rs.Levels()) {
			c, ok := unfillable(rs.Levels()[until], team, in.Name)
			if !ok {
				break
			}
			if until == 0 {
				cause = c
			}
			until++
		}
		switch {
		case until == 0, slices.ContainsFunc(causes, func(c Cause) bool { return c.Name == cause.Name }):
			continue
		case until < len(rs.Levels()):
			cause.Text += fmt.Sprintf(": no match is possible before %s", rs.Levels()[until].From)
		default:
			cause.Text += ": no match is possible"
		}
		causes = append(causes, cause)
	}
	return causes
}

// unfillable returns a rule about counts that no players of a team can keep at a level. It
// returns false if there is none, or if the team may be empty.
func unfillable(level *ruleset.Level, team int, name string) (Cause, bool) {
	var lacks search.Demand
	rules := search.CountsAt(level)
	for i := range rules {
		if c := &rules[i]; slices.Contains(c.Instances, team) {
			lacks.Add(c, 0, c.Least())
		}
	}
	size := level.Sizes[team]
	n, s := lacks.Least()
	if size.Min == 0 || n <= size.Max {
		return Cause{}, false
	}
	text := fmt.Sprintf("team %s needs %s with %q", name, plain.Count(s.Needs, "player"), s.String)
	if others := n - s.Needs; others > 0 {
		text += fmt.Sprintf(" and %d with others by further rules", others)
	}
	return Cause{Code: BreaksRule, Name: s.Rule, Text: text + fmt.Sprintf(", and has room for %d", size.Max)}, true
}
