package search

import "github.com/musterhq/muster/flexmatch/ruleset"

// Lineup gives the match as rules see it: every player with a value for each
// declared attribute, in its team. The parties stand in the order of Tickets.
func (m *Match) Lineup(rs *ruleset.RuleSet) *ruleset.Lineup {
	return new(seating).of(rs, m.entries, m.Teams)
}
