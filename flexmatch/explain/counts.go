package explain

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/internal/plain"
)

// counted is an enforced rule about how many players of a team have a string, at a level.
type counted struct {
	name string
	ruleset.Counts
}

// countsAt returns the rules about counts of a level.
func countsAt(level *ruleset.Level) (out []counted) {
	for _, r := range level.Rules {
		if of, ok := r.Counts(); ok && r.Enforced {
			out = append(out, counted{r.Name, of})
		}
	}
	return out
}

// of returns how many players of a party count.
func (c *counted) of(p *ruleset.Party) (n int) {
	for player := range p.Players {
		if c.Has(p, player) {
			n++
		}
	}
	return n
}

// needed returns how many players must count in a match at a level.
func (c *counted) needed(level *ruleset.Level) (n int) {
	for _, team := range c.Instances {
		if level.Sizes[team].Min > 0 {
			n += c.Least()
		}
	}
	return n
}

// allowed returns how many players may count in a match. It returns false if there is no
// limit, or if the rule leaves out a team.
func (c *counted) allowed(w *world) (int, bool) {
	n, limited := c.Most()
	return n * len(c.Instances), limited && len(c.Instances) == len(w.rs.Instances)
}

// Shortage is how many players with a string are missing for a rule about counts.
type Shortage struct {
	Rule   string `json:"rule"`
	String string `json:"string"`
	Has    int    `json:"has"`
	Needs  int    `json:"needs"`
}

func (s Shortage) missing() int { return s.Needs - s.Has }

// demand is the shortages of a team or a match.
type demand struct {
	shortages  []Shortage // at most one for each string of an attribute
	attributes []int      // of each
	single     []bool     // a player ends only one shortage of the attribute
}

// add adds what a rule is short of, if it is.
func (d *demand) add(c *counted, has, needs int) {
	attribute, single := c.Attribute()
	s := Shortage{Rule: c.name, String: c.Text, Has: has, Needs: needs}
	if s.missing() <= 0 {
		return
	}
	for i, o := range d.shortages {
		if d.attributes[i] == attribute && o.String == s.String {
			if s.missing() > o.missing() {
				d.shortages[i] = s
			}
			return
		}
	}
	d.shortages, d.attributes, d.single = append(d.shortages, s), append(d.attributes, attribute), append(d.single, single)
}

// least returns how many players end all shortages at least, and the largest shortage of
// the attribute that requires so many.
func (d *demand) least() (players int, largest Shortage) {
	for i, s := range d.shortages {
		n, of := s.missing(), s
		for j, o := range d.shortages {
			if j != i && d.single[i] && d.attributes[j] == d.attributes[i] {
				if n += o.missing(); o.missing() > of.missing() {
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

// misfits returns the rules about counts by which no team can take a ticket's players at a
// level, or nil if a team can.
func (w *world) misfits(at int, o *search.Candidate) (causes []Cause) {
	if len(w.counts[at]) == 0 {
		return nil
	}
	for team, size := range w.rs.Levels()[at].Sizes {
		var players []int
		for i := range o.Party.Players {
			if !o.Party.Individuals || o.Teams[i] == team {
				players = append(players, i)
			}
		}
		if len(players) > size.Max || len(players) == 0 {
			continue
		}
		c, refused := w.misfit(at, team, o, players)
		if !refused && !o.Party.Individuals {
			return nil
		}
		if refused && !slices.ContainsFunc(causes, func(o Cause) bool { return o.Name == c.Name }) {
			causes = append(causes, c)
		}
	}
	return causes
}

// misfit returns the rule about counts by which players of a ticket can never be in a team
// at a level, whoever joins them. It returns false if none forbids it.
func (w *world) misfit(at, team int, o *search.Candidate, players []int) (Cause, bool) {
	free := w.rs.Levels()[at].Sizes[team].Max - len(players)
	who := "of its " + plain.Count(len(players), "player")
	if o.Party.Individuals {
		who = "of the " + plain.Count(len(players), "player") + " in team " + w.rs.Instances[team].Name
	}
	var lacks demand
	for i := range w.counts[at] {
		c := &w.counts[at][i]
		if !slices.Contains(c.Instances, team) {
			continue
		}
		has := 0
		for _, player := range players {
			if c.Has(&o.Party, player) {
				has++
			}
		}
		if most, limited := c.Most(); limited && has > most {
			return Cause{Code: BreaksRule, Name: c.name, Text: fmt.Sprintf("%d %s have %q, and the rule %s allows %d in a team", has, who, c.Text, c.name, most)}, true
		}
		lacks.add(c, has, c.Least())
	}
	if n, s := lacks.least(); n > free {
		return Cause{Code: BreaksRule, Name: s.Rule, Text: fmt.Sprintf("%d %s have %q, the rule %s needs %d in a team, and beside them a team has room for %d", s.Has, who, s.String, s.Rule, s.Needs, free)}, true
	}
	return Cause{}, false
}

// headcount is how many players of each team count for each rule about counts.
type headcount struct {
	rules []counted
	teams [][]int // by rule and team
}

// countTeams counts the players that a lineup places.
func (c *group) countTeams(l *ruleset.Lineup) *headcount {
	h := &headcount{rules: c.world.counts[c.level]}
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
		if most, limited := c.Most(); limited && slices.Contains(c.Instances, team) && h.teams[i][team]+c.of(p) > most {
			return false
		}
	}
	return true
}

// add counts a party that joins a team.
func (h *headcount) add(p *ruleset.Party, team int) {
	for i := range h.rules {
		h.teams[i][team] += h.rules[i].of(p)
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
	var lacks demand
	rules := countsAt(level)
	for i := range rules {
		if c := &rules[i]; slices.Contains(c.Instances, team) {
			lacks.add(c, 0, c.Least())
		}
	}
	size := level.Sizes[team]
	n, s := lacks.least()
	if size.Min == 0 || n <= size.Max {
		return Cause{}, false
	}
	text := fmt.Sprintf("team %s needs %s with %q", name, plain.Count(s.Needs, "player"), s.String)
	if others := n - s.Needs; others > 0 {
		text += fmt.Sprintf(" and %d with others by further rules", others)
	}
	return Cause{Code: BreaksRule, Name: s.Rule, Text: text + fmt.Sprintf(", and has room for %d", size.Max)}, true
}
