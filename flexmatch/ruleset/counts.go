package ruleset

import (
	"math"
	"slices"
)

// Counts is a limit on how many players of a team have a string. A team without players
// passes.
type Counts struct {
	Instances []int // the teams, of which each is counted alone
	Min, Max  Bound
	Text      string // the string

	path  *Expr  // to the players' strings
	party string // how parties count, if each player has several strings
}

// Has reports whether the player with an index in a party counts.
func (c *Counts) Has(p *Party, player int) bool {
	v := &p.Players[player].Values[c.path.attribute]
	switch {
	case !c.path.typ.set:
		return v.String == c.Text
	case p.together():
		return slices.Contains(p.partyStrings(c.path.attribute, c.party), c.Text)
	}
	return slices.Contains(v.Strings, c.Text)
}

// Attribute returns the index of the attribute that is counted, and whether a player has
// only one string in it, so that no player counts for two strings.
func (c *Counts) Attribute() (index int, single bool) { return c.path.attribute, !c.path.typ.set }

// Same reports whether the two count the same players.
func (c *Counts) Same(o *Counts) bool {
	return c.Text == o.Text && c.path.attribute == o.path.attribute && (c.party == o.party || !c.path.typ.set)
}

// Least returns how many players a team with players needs.
func (c *Counts) Least() int {
	if !c.Min.Set {
		return 0
	}
	return max(0, int(math.Ceil(c.Min.Value)))
}

// Most returns how many players a team may have. It returns false if there is no limit.
func (c *Counts) Most() (int, bool) { return int(math.Floor(c.Max.Value)), c.Max.Set }

// Counts returns the limit of a rule that looks for one string in a list of each team.
func (k *collection) Counts() (Counts, bool) {
	if k.operation != opContains || len(k.measurements) != 1 {
		return Counts{}, false
	}
	path := k.measurements[0]
	return Counts{Instances: path.instances, Min: k.min, Max: k.max, Text: k.reference.constant.str, path: path, party: k.party},
		path.function == "" && path.part == partAttribute
}
