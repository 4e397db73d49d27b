package ruleset

import (
	"maps"
	"math"
	"slices"
)

// SortKeys returns, for each sort rule, a function that yields the number by which the
// rule orders parties, ascending, relative to an anchor.
func (l *Level) SortKeys(anchor *Party) []func(*Party) float64 {
	var out []func(*Party) float64
	for _, r := range l.Rules {
		if r.Traits.Sorts {
			out = append(out, r.sortKey(anchor))
		}
	}
	return out
}

func (r *Rule) sortKey(anchor *Party) func(*Party) float64 {
	value := r.sortValue(anchor)
	origin, _ := value(anchor)
	return func(p *Party) float64 {
		v, ok := value(p)
		if !ok {
			return math.Inf(1) // without the key: last in both directions
		}
		if r.Type == DistanceSort {
			v = math.Abs(v - origin)
		}
		if r.Descending {
			v = -v
		}
		return v
	}
}

// sortValue returns a function that yields a party's value: its number, its value at the
// anchor's best key, or 1 if its string differs from the anchor's.
func (r *Rule) sortValue(anchor *Party) func(*Party) (float64, bool) {
	switch r.sorted {
	case NumberMap:
		key, ok := r.bestKey(anchor)
		return func(p *Party) (float64, bool) {
			if !ok {
				return 0, true
			}
			return p.PartyKey(r.Attribute, key, r.Party)
		}
	case String:
		want := anchor.FirstString(r.Attribute)
		return func(p *Party) (float64, bool) {
			if p.FirstString(r.Attribute) == want {
				return 0, true
			}
			return 1, true
		}
	}
	return func(p *Party) (float64, bool) { return p.PartyNumber(r.Attribute, r.Party), true }
}

// bestKey returns the key with the lowest or highest value in the party's map; of equals,
// the alphabetically first.
func (r *Rule) bestKey(p *Party) (string, bool) {
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
