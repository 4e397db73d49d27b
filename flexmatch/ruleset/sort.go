package ruleset

import (
	"maps"
	"math"
	"slices"
)

// absoluteSort and distanceSort are rules that do not judge matches, but order the
// candidates for a ticket: by a value, or by its distance from the ticket's.
var (
	absoluteSort = sortType(false)
	distanceSort = sortType(true)
)

func sortType(distance bool) ruleType {
	return ruleType{
		properties: []string{"sortDirection", "sortAttribute", "mapKey", "partyAggregation"},
		fixed:      []string{"sortAttribute"},
		unnamed:    textError{code: CompoundReference, text: "sorts and cannot pass or fail"},
		read:       func(o *ruleObject) kind { return readSort(o, distance) },
	}
}

type sorter struct {
	plain
	distance   bool
	attribute  int
	typ        AttributeType
	descending bool
	highest    bool // of a map: the key is that of the highest value
	party      string
}

func readSort(o *ruleObject, distance bool) kind {
	k := &sorter{distance: distance}
	if o.get("sortDirection") == nil {
		o.bad("sortDirection", BadSortRule, "is required: ascending or descending")
	} else {
		k.descending = o.word("sortDirection", BadSortRule, "ascending", "descending") == "descending"
	}
	k.attribute, k.typ = o.attribute("sortAttribute", BadSortRule)
	given := o.get("mapKey") != nil
	if given {
		k.highest = o.word("mapKey", BadSortRule, "minValue", "maxValue") == "maxValue"
	}
	switch {
	case k.typ == NumberMap && !given:
		o.bad("mapKey", BadSortRule, "is required for a map: minValue or maxValue")
	case k.typ == StringSet:
		o.bad("sortAttribute", BadSortRule, "must not be a list")
	case k.typ == String && distance:
		o.bad("sortAttribute", BadSortRule, "must be a number or a map: strings have no distance")
	}
	k.party = o.aggregation("avg", "min", "max")
	return k
}

func (k *sorter) holds(*Level, *Lineup, Notes) bool { return true }

func (k *sorter) traits(rs *RuleSet) Traits {
	t := rs.independent(k.attribute)
	t.Sorts = true
	return t
}

func (k *sorter) order(anchor *Party) func(*Party) float64 {
	value := k.value(anchor)
	origin, _ := value(anchor)
	return func(p *Party) float64 {
		v, ok := value(p)
		if !ok {
			return math.Inf(1) // without the key: last in both directions
		}
		if k.distance {
			v = math.Abs(v - origin)
		}
		if k.descending {
			v = -v
		}
		return v
	}
}

// value returns a function that yields a party's value: its number, its value at the
// anchor's best key, or 1 if its string differs from the anchor's.
func (k *sorter) value(anchor *Party) func(*Party) (float64, bool) {
	switch k.typ {
	case NumberMap:
		key, ok := k.bestKey(anchor)
		return func(p *Party) (float64, bool) {
			if !ok {
				return 0, true
			}
			return p.PartyKey(k.attribute, key, k.party)
		}
	case String:
		want := anchor.FirstString(k.attribute)
		return func(p *Party) (float64, bool) {
			if p.FirstString(k.attribute) == want {
				return 0, true
			}
			return 1, true
		}
	}
	return func(p *Party) (float64, bool) { return p.PartyNumber(k.attribute, k.party), true }
}

// bestKey returns the key with the lowest or highest value in the party's map; of equals,
// the alphabetically first.
func (k *sorter) bestKey(p *Party) (string, bool) {
	keys := map[string]bool{}
	for i := range p.Players {
		for key := range p.Players[i].Values[k.attribute].Map {
			keys[key] = true
		}
	}
	best, found, bestValue := "", false, 0.0
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		v, _ := p.PartyKey(k.attribute, key, k.party)
		if k.highest {
			v = -v
		}
		if !found || v < bestValue {
			best, found, bestValue = key, true, v
		}
	}
	return best, found
}
