package ruleset

import "math"

// batchDistances are rules that require equal strings, or numbers near each other, of all
// tickets of a match.
var batchDistances = ruleType{
	properties: []string{"batchAttribute", "maxDistance", "partyAggregation"},
	fixed:      []string{"batchAttribute"},
	large:      []string{"batchAttribute", "maxDistance", "partyAggregation"},
	unnamed:    textError{code: CompoundBatch, text: "is a batchDistance, which compounds cannot name"},
	read:       readBatchDistance,
}

type batchDistance struct {
	plain
	attribute int
	typ       AttributeType
	max       Bound
	party     string
}

func readBatchDistance(o *ruleObject) kind {
	k := &batchDistance{}
	k.attribute, k.typ = o.attribute("batchAttribute", MissingProperty)
	k.max = o.limit("maxDistance", BadBatchDistance)
	switch k.typ {
	case Number:
		if !k.max.Set {
			o.bad("maxDistance", BadBatchDistance, "is required for a number attribute")
		}
	case String, "":
		k.max = Bound{} // strings have no distance
	default:
		o.bad("batchAttribute", BadBatchDistance, "must be a number or string attribute, not a %s", k.typ)
	}
	k.party = o.aggregation("avg", "min", "max")
	return k
}

// span returns the lowest and highest number of a lineup. A ticket counts with one number;
// in a backfill ticket each player counts.
func (k *batchDistance) span(lineup *Lineup) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, p := range lineup.Parties {
		a, b := p.Span(k.attribute, k.party)
		low, high = min(low, a), max(high, b)
	}
	return low, high
}

func (k *batchDistance) holds(_ *Level, lineup *Lineup, _ Notes) bool {
	if k.typ == Number {
		low, high := k.span(lineup)
		return !(high-low > k.max.Value)
	}
	var first *string
	for _, p := range lineup.Parties {
		for i := range p.Players {
			value := &p.Players[i].Values[k.attribute].String
			if first == nil {
				first = value
			}
			if *value != *first {
				return false
			}
		}
	}
	return true
}

func (k *batchDistance) Limit() Bound { return k.max }

func (k *batchDistance) Measured(l *Lineup) (Measured, bool) {
	low, high := k.span(l)
	return Measured{Value: high - low, Limit: k.max.Value}, k.max.Set && high >= low
}

func (k *batchDistance) traits(rs *RuleSet) Traits {
	t := rs.independent(k.attribute)
	t.Shrinks, t.Column = true, Window{k.attribute, k.party, k.max.Value}
	if k.typ == String {
		t.Column = Partition{k.attribute}
	}
	return t
}

func (k *batchDistance) certain(l *Level) (Verdict, string) {
	if k.typ == Number && l.Capacity() <= 1 {
		return Always, "a match has one player"
	}
	return Open, ""
}
