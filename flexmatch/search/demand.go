package search

import (
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// Counted is an enforced rule about how many players of a team have a string, at a level.
type Counted struct {
	Number int // of the rule
	Name   string
	ruleset.Counts
}

// CountsAt returns the rules about counts of a level.
func CountsAt(level *ruleset.Level) (out []Counted) {
	for i, r := range level.Rules {
		if of, ok := r.Counts(); ok && r.Enforced {
			out = append(out, Counted{i, r.Name, of})
		}
	}
	return out
}

// AllCountsAt is CountsAt with the rules about how many players of the match have a string.
func AllCountsAt(level *ruleset.Level) []Counted {
	out := CountsAt(level)
	for i, r := range level.Rules {
		if of, ok := r.Total(); ok && r.Enforced {
			out = append(out, Counted{i, r.Name, of})
		}
	}
	return out
}

// Of returns how many players of a party count.
func (c *Counted) Of(p *ruleset.Party) (n int) {
	for player := range p.Players {
		if c.Has(p, player) {
			n++
		}
	}
	return n
}

// Allowed returns how many players of a match of so many teams may count. It returns false if
// there is no limit, or if the rule leaves out a team.
func (c *Counted) Allowed(teams int) (int, bool) {
	n, limited := c.Most()
	return n * len(c.Instances), limited && len(c.Instances) == teams
}

// Needed returns how many players must count in a match at a level.
func (c *Counted) Needed(level *ruleset.Level) (n int) {
	for _, team := range c.Instances {
		if level.Sizes[team].Min > 0 {
			n += c.Least()
		}
	}
	return n
}

// Shortage is how many players with a string are missing for a rule about counts.
type Shortage struct {
	Rule   string `json:"rule"`
	String string `json:"string"`
	Has    int    `json:"has"`
	Needs  int    `json:"needs"`
}

// Missing returns how many players are missing.
func (s Shortage) Missing() int { return s.Needs - s.Has }

// Demand is the shortages of a team or a match.
type Demand struct {
	Shortages  []Shortage // at most one for each string of an attribute
	attributes []int      // of each
	single     []bool     // a player ends only one shortage of the attribute
}

// Add adds what a rule is short of, if it is.
func (d *Demand) Add(c *Counted, has, needs int) {
	attribute, single := c.Attribute()
	s := Shortage{Rule: c.Name, String: c.Text, Has: has, Needs: needs}
	if s.Missing() <= 0 {
		return
	}
	for i, o := range d.Shortages {
		if d.attributes[i] == attribute && o.String == s.String {
			if s.Missing() > o.Missing() {
				d.Shortages[i] = s
			}
			return
		}
	}
	d.Shortages, d.attributes, d.single = append(d.Shortages, s), append(d.attributes, attribute), append(d.single, single)
}

// Least returns how many players end all shortages at least, and the largest shortage of
// the attribute that requires so many.
func (d *Demand) Least() (players int, largest Shortage) {
	for i, s := range d.Shortages {
		n, of := s.Missing(), s
		for j, o := range d.Shortages {
			if j != i && d.single[i] && d.attributes[j] == d.attributes[i] {
				if n += o.Missing(); o.Missing() > of.Missing() {
					of = o
				}
			}
		}
		if n > players {
			players, largest = n, of
		}
	}
	return players, largest
}

// Misfit is why players of a ticket can be in no team together: more of them have a string than
// a rule allows, or they leave too little room for those whom it needs.
type Misfit struct {
	Rule    string
	String  string
	Team    int
	Players int // of the ticket who would be in the team
	Has     int // of Players, those who have the string
	Most    int // of them that the rule allows, if Needs is 0
	Needs   int // of them in the team
	Free    int // places in the team beside Players
}

// Misfits returns the rules about counts by which no team can take a ticket's players at a
// level, or nil if a team can. Players of a game session have their teams.
func (r *Rules) Misfits(level int, c *Candidate) (out []Misfit) {
	if len(r.Counts[level]) == 0 {
		return nil
	}
	for team, size := range r.Set.Levels()[level].Sizes {
		var players []int
		for i := range c.Party.Players {
			if !c.Party.Individuals || c.Teams[i] == team {
				players = append(players, i)
			}
		}
		if len(players) > size.Max || len(players) == 0 {
			continue
		}
		m, misfits := r.misfit(level, team, c, players)
		if !misfits && !c.Party.Individuals {
			return nil
		}
		if misfits && !slices.ContainsFunc(out, func(o Misfit) bool { return o.Rule == m.Rule }) {
			out = append(out, m)
		}
	}
	return out
}

// misfit returns the rule about counts by which players of a ticket cannot be in a team at a
// level. It returns false if none forbids it.
func (r *Rules) misfit(level, team int, c *Candidate, players []int) (Misfit, bool) {
	m := Misfit{Team: team, Players: len(players), Free: r.Set.Levels()[level].Sizes[team].Max - len(players)}
	var lacks Demand
	for i := range r.Counts[level] {
		rule := &r.Counts[level][i]
		if !slices.Contains(rule.Instances, team) {
			continue
		}
		has := 0
		for _, player := range players {
			if rule.Has(&c.Party, player) {
				has++
			}
		}
		if most, limited := rule.Most(); limited && has > most {
			m.Rule, m.String, m.Has, m.Most = rule.Name, rule.Text, has, most
			return m, true
		}
		lacks.Add(rule, has, rule.Least())
	}
	n, s := lacks.Least()
	m.Rule, m.String, m.Has, m.Needs = s.Rule, s.String, s.Has, s.Needs
	return m, n > m.Free
}

// NoTeam reports whether no team can take a ticket's players at any level.
func (r *Rules) NoTeam(c *Candidate) bool {
	for level := range r.Set.Levels() {
		if r.Misfits(level, c) == nil {
			return false
		}
	}
	return true
}
