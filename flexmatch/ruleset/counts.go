package ruleset

import (
	"math"
	"slices"
)

// Counts is a limit on how many players of a team, or of the match, have a string. A team
// without players passes.
type Counts struct {
	Instances []int // the teams, of which each is counted alone
	Whole     bool  // all teams are counted together; only if the rule counts the whole match (Total)
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
	return k.counts(k.measurements[0]), k.measurements[0].function == "" && k.measurements[0].part == partAttribute
}

// Total returns the limit of a rule that looks for one string in the list of all players.
func (k *collection) Total() (Counts, bool) {
	if k.operation != opContains || len(k.measurements) != 1 || k.measurements[0].function != fnFlatten {
		return Counts{}, false
	}
	path := k.measurements[0].argument
	c := k.counts(path)
	c.Whole = true
	return c, path.function == "" && path.part == partAttribute && k.ofTheirs()
}

// ofTheirs reports whether the one measurement lists what each player has: a string, or a
// collection.
func (k *collection) ofTheirs() bool {
	e := k.measurements[0]
	return k.elementwise() && (e.typ.depth == 1 && !e.typ.set || e.typ.depth == 2 && e.typ.set)
}

func (k *collection) counts(path *Expr) Counts {
	return Counts{Instances: path.instances, Min: k.min, Max: k.max, Text: k.reference.constant.str, path: path, party: k.party}
}
