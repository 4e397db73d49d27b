package lint

import (
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// always finds rules that every match passes at every level.
func (c *checked) always() {
	levels := c.rs.Levels()
	for i, r := range levels[0].Rules {
		_, why := levels[0].Certain(i)
		if r.Traits.Sorts || slices.ContainsFunc(levels, func(l *ruleset.Level) bool { v, _ := l.Certain(i); return v != ruleset.Always }) {
			continue
		}
		c.rule(Idle, i, "it always holds: %s", why)
	}
}

// unread finds attributes that neither a rule nor the algorithm reads.
func (c *checked) unread() {
	all := make([]int, len(c.rs.Levels()[0].Rules))
	for i := range all {
		all[i] = i
	}
	reads := c.rs.Reads(all)
	for i, a := range c.rs.Attributes {
		if reads.Attributes[i] || i == c.rs.Algorithm.Balanced || slices.Contains(c.rs.Algorithm.SortBy, i) {
			continue
		}
		if a.Default != nil {
			c.say(Idle, a.At, "playerAttributes["+a.Name+"]", "no rule reads %s: it only goes to the game server", a.Name)
			continue
		}
		c.say(Idle, a.At, "playerAttributes["+a.Name+"]", "no rule reads %s: it only goes to the game server, and players without a value are never matched; give it a default, or leave it out", a.Name)
	}
}

// algorithm finds members of the algorithm that have no effect.
func (c *checked) algorithm() {
	a := &c.rs.Algorithm
	say := func(member, why string) { c.say(Idle, a.At, "algorithm."+member, "it has no effect: %s", why) }
	switch {
	case a.Batching == "sorted":
		say("batchingPreference", "all tickets are searched as one batch, the oldest first; a rule of type distanceSort or absoluteSort orders candidates")
	case len(a.SortBy) > 0:
		say("sortByAttributes", "batchingPreference is not sorted")
	}
	if a.Balanced >= 0 && a.Strategy != ruleset.Balanced {
		say("balancedAttribute", "the strategy is not balanced")
	}
	if a.OldestAge && len(c.rs.Levels()) == 1 {
		say("expansionAgeSelection", "there are no expansions that change something with age")
	}
}
