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
