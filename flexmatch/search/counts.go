package search

import (
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// countedAt returns which of the rules about teams are about counts at a level, and the others.
func countedAt(level *ruleset.Level, teams []int) (counts []Counted, others []int) {
	for _, c := range CountsAt(level) {
		if slices.Contains(teams, c.Number) {
			counts = append(counts, c)
		}
	}
	for _, i := range teams {
		if !slices.ContainsFunc(counts, func(c Counted) bool { return c.Number == i }) {
			others = append(others, i)
		}
	}
	return counts, others
}

// headcount holds, while a set is seated, how many players count for a rule.
type headcount struct {
	*Counted
	tickets []int // by ticket
	teams   []int // by team, of those that are placed
	left    int   // of those that are not
}

// prepareCounts counts the players of the set for each rule that limits counts at its level.
func (s *Seating) prepareCounts() {
	for len(s.counts) < len(s.counted) {
		s.counts = append(s.counts, headcount{})
	}
	s.counts = s.counts[:len(s.counted)]
	for n := range s.counts {
		c := &s.counts[n]
		c.Counted, c.left = &s.counted[n], 0
		c.tickets, c.teams = zeros(c.tickets, len(s.set)), zeros(c.teams, len(s.filled))
		for i, of := range s.set {
			for player := range of.Party.Players {
				switch {
				case !c.Has(&of.Party, player):
				case of.Teams != nil:
					c.teams[of.Teams[player]]++
				default:
					c.tickets[i]++
					c.left++
				}
			}
		}
	}
}

// move adds a ticket to a team or, with sign -1, removes it.
func (c *headcount) move(i, team, sign int) {
	c.teams[team] += sign * c.tickets[i]
	c.left -= sign * c.tickets[i]
}

// breaks reports whether the rule breaks wherever the tickets that are left are placed.
func (c *headcount) breaks(s *Seating) bool {
	short := 0.0
	for _, team := range c.Instances {
		n := float64(c.teams[team])
		if c.Max.Set && n > c.Max.Value {
			return true
		}
		if c.Min.Set && (s.filled[team] > 0 || s.level.Sizes[team].Min > 0) {
			short += max(0, c.Min.Value-n)
		}
	}
	return short > float64(c.left)
}

// decideCounts judges the rules about counts by the placed tickets. It returns false if one
// is broken, however the others are placed.
func (s *Seating) decideCounts() bool {
	for n := range s.counts {
		if c := &s.counts[n]; c.breaks(s) {
			s.judge.Tally.Note(c.Number, false)
			return false
		}
	}
	return true
}
