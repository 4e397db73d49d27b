package search

import (
	"cmp"
	"maps"
	"math"
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
	var keys []func(*entry) float64
	for _, r := range rs.Level(now.Sub(anchor.ticket.Created)).Rules {
		if r.Type == ruleset.DistanceSort || r.Type == ruleset.AbsoluteSort {
			keys = append(keys, sortKey(rs, r, anchor))
		}
	}
	if len(keys) == 0 {
		return
	}
	values := make(map[*entry][]float64, len(candidates))
	for _, c := range candidates {
		for _, key := range keys {
			values[c] = append(values[c], key(c))
		}
	}
	slices.SortStableFunc(candidates, func(a, b *entry) int { return slices.Compare(values[a], values[b]) })
}

// sortKey returns a function that yields the number by which a sort rule orders
// candidates, ascending.
func sortKey(rs *ruleset.RuleSet, r *ruleset.Rule, anchor *entry) func(*entry) float64 {
	value := sortValue(rs, r, anchor)
	origin, _ := value(anchor)
	return func(e *entry) float64 {
		v, ok := value(e)
		if !ok {
			return math.Inf(1) // without the key: last in both directions
		}
		if r.Type == ruleset.DistanceSort {
			v = math.Abs(v - origin)
		}
		if r.Descending {
			v = -v
		}
		return v
	}
}

// sortValue returns a function that yields a sort rule's value for a party: its number,
// its value at the anchor's best key, or 1 if its string differs from the anchor's.
func sortValue(rs *ruleset.RuleSet, r *ruleset.Rule, anchor *entry) func(*entry) (float64, bool) {
	switch rs.Attributes[r.Attribute].Type {
	case ruleset.NumberMap:
		key, ok := bestKey(r, anchor.party)
		return func(e *entry) (float64, bool) {
			if !ok {
				return 0, true
			}
			return e.party.PartyKey(r.Attribute, key, r.Party)
		}
	case ruleset.String:
		want := firstString(anchor, r.Attribute)
		return func(e *entry) (float64, bool) {
			if firstString(e, r.Attribute) == want {
				return 0, true
			}
			return 1, true
		}
	}
	return func(e *entry) (float64, bool) { return e.party.PartyNumber(r.Attribute, r.Party), true }
}

func firstString(e *entry, attribute int) string {
	if len(e.party.Players) == 0 {
		return ""
	}
	return e.party.Players[0].Values[attribute].String
}

// bestKey returns the key with the lowest or highest value in the party's map; of equals,
// the alphabetically first.
func bestKey(r *ruleset.Rule, p *ruleset.Party) (string, bool) {
	keys := map[string]bool{}
	for i := range p.Players {
		for key := range p.Players[i].Values[r.Attribute].Map {
			keys[key] = true
		}
	}
	best, found, bestValue := "", false, 0.0
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		v, _ := p.PartyKey(r.Attribute, key, r.Party)
		if r.MapKey == "maxValue" {
			v = -v
		}
		if !found || v < bestValue {
			best, found, bestValue = key, true, v
		}
	}
	return best, found
}
