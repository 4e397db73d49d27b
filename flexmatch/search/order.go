package search

import (
	"cmp"
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// byPriority sorts entries: backfill first or last if the rule set says so, then by age,
// oldest first.
func byPriority(rs *ruleset.RuleSet, entries []*entry) {
	slices.SortStableFunc(entries, func(a, b *entry) int {
		return cmp.Or(priority(rs, a)-priority(rs, b), older(a.ticket, b.ticket))
	})
}

func priority(rs *ruleset.RuleSet, e *entry) int {
	switch {
	case !e.ticket.Backfill:
		return 0
	case rs.Algorithm.BackfillPriority == ruleset.PriorityHigh:
		return -1
	case rs.Algorithm.BackfillPriority == ruleset.PriorityLow:
		return 1
	}
	return 0
}

// older compares tickets by age, those created at the same time by arrival.
func older(a, b *Ticket) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Arrival, b.Arrival))
}

// bySortRules sorts candidates by the sort rules, relative to an anchor. The sort is
// stable.
func bySortRules(rs *ruleset.RuleSet, anchor *entry, candidates []*entry, now time.Time) {
	keys := rs.Level(now.Sub(anchor.ticket.Created)).SortKeys(anchor.party)
	if len(keys) == 0 {
		return
	}
	values := make(map[*entry][]float64, len(candidates))
	for _, c := range candidates {
		for _, key := range keys {
			values[c] = append(values[c], key(c.party))
		}
	}
	slices.SortStableFunc(candidates, func(a, b *entry) int { return slices.Compare(values[a], values[b]) })
}
