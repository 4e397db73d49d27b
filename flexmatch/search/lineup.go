package search

import "github.com/musterhq/muster/flexmatch/ruleset"

// Lineup returns the match as rules see it: every player in its team, with a value for
// each declared attribute. Parties are in the order of Tickets.
func (m *Match) Lineup(rs *ruleset.RuleSet) *ruleset.Lineup {
	return new(seating).of(rs, m.entries, m.Teams)
}
