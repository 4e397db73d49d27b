package ruleset

import "slices"

// Counts is a limit on how many players of a team have a string. A team without players
// passes.
type Counts struct {
	Instances []int // the teams, of which each is counted alone
	Min, Max  Bound

	path  *Expr  // to the players' strings
	text  string // the string
	party string // how parties count, if each player has several strings
}

// Has reports whether the player with an index in a party counts.
func (c *Counts) Has(p *Party, player int) bool {
	v := &p.Players[player].Values[c.path.attribute]
	switch {
	case !c.path.typ.set:
		return v.String == c.text
	case p.together():
		return slices.Contains(p.partyStrings(c.path.attribute, c.party), c.text)
	}
	return slices.Contains(v.Strings, c.text)
}

// Counts returns the limit of a rule that looks for one string in a list of each team.
func (k *collection) Counts() (Counts, bool) {
	if k.operation != opContains || len(k.measurements) != 1 {
		return Counts{}, false
	}
	path := k.measurements[0]
	return Counts{path.instances, k.min, k.max, path, k.reference.constant.str, k.party},
		path.function == "" && path.part == partAttribute
}
