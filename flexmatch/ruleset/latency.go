package ruleset

import "math"

// latencies are rules that require a location near enough to every player.
var latencies = ruleType{
	properties: []string{"maxLatency", "maxDistance", "distanceReference", "partyAggregation"},
	large:      []string{"maxLatency", "partyAggregation"},
	read:       readLatency,
}

type latency struct {
	plain
	at      AtLocation
	max     Bound // the distance of each latency from the average or the lowest
	fromMin bool
}

func readLatency(o *ruleObject) kind {
	k := &latency{}
	k.at.Most = o.limit("maxLatency", BadLatency)
	k.max = o.limit("maxDistance", BadLatency)
	k.at.Alone = !k.max.Set
	k.fromMin = o.word("distanceReference", BadLatency, "avg", "min") == "min"
	reference := o.get("distanceReference") != nil
	switch {
	case k.max.Set && !reference:
		o.bad("distanceReference", BadLatency, "is required with maxDistance")
	case reference && !k.max.Set:
		o.bad("maxDistance", BadLatency, "is required with distanceReference")
	case !k.at.Most.Set && !k.max.Set:
		o.bad("maxLatency", BadLatency, "maxLatency, or maxDistance with distanceReference, is required")
	}
	k.at.Party = o.aggregation("avg", "min", "max")
	return k
}

func (k *latency) holds(_ *Level, lineup *Lineup, _ Notes) bool {
	for location := range lineup.reported() {
		if k.qualifies(location, lineup) {
			return true
		}
	}
	return false
}

func (k *latency) qualifies(location string, lineup *Lineup) bool {
	total, low, high, players := 0.0, math.Inf(1), math.Inf(-1), 0
	for _, p := range lineup.Parties {
		one := p.together() || p.by > 0 // latency for all players
		together, known := 0.0, false
		if one {
			together, known = p.PartyLatency(location, k.at.Party)
		}
		for i := range p.Players {
			v, ok := together, known
			if !one {
				v, ok = p.Players[i].Latency[location]
			}
			if !ok || k.at.Most.Set && v > k.at.Most.Value {
				return false
			}
			total, low, high, players = total+v, min(low, v), max(high, v), players+1
		}
	}
	reference := total / float64(players)
	if k.fromMin {
		reference = low
	}
	return !(k.max.Set && max(high-reference, reference-low) > k.max.Value)
}

func (k *latency) Limit() Bound { return upper(k.max, k.at.Most) }

// Measured returns the highest latency at the location where that is lowest.
func (k *latency) Measured(lineup *Lineup) (Measured, bool) {
	if !k.at.Most.Set {
		return Measured{}, false
	}
	best := math.Inf(1)
	for location := range lineup.reported() {
		worst, known := 0.0, true
		for _, p := range lineup.Parties {
			of, ok := k.at.Worst(p, location)
			worst, known = max(worst, of), known && ok
		}
		if known {
			best = min(best, worst)
		}
	}
	return Measured{Value: best, Limit: k.at.Most.Value}, !math.IsInf(best, 1)
}

func (k *latency) traits(rs *RuleSet) Traits {
	t := rs.independent()
	t.Reads.Latency = true
	t.Shrinks, t.Column = !k.max.Set || k.fromMin, k.at
	return t
}

func (k *latency) certain(*Level) (Verdict, string) {
	if k.at.Most.Set && k.at.Most.Value < 1 {
		return Never, "a latency is at least 1 ms"
	}
	return Open, ""
}
