package ruleset

import (
	"math"
	"slices"
)

// Measured is the number that a rule compares with its limit. It shows by how much a
// lineup passes or fails.
type Measured struct {
	Value   float64 // the lineup's worst
	Limit   float64
	AtLeast bool // Value must be at least Limit, else at most
}

// Breaks reports whether the value is beyond the limit. A rule with two limits can be
// broken even if Breaks returns false, because Measured has only one of them.
func (m Measured) Breaks() bool {
	return m.AtLeast && m.Value < m.Limit || !m.AtLeast && m.Value > m.Limit
}

// Measured returns a rule's number for a lineup. It returns false if the number is
// undefined or the rule has none, as when it compares strings.
func (r *Rule) Measured(l *Lineup) (Measured, bool) {
	switch r.Type {
	case BatchDistance:
		return r.measuredBatch(l)
	case Latency:
		return r.measuredLatency(l)
	case Distance, Comparison, Collection:
		return r.measuredValues(l)
	}
	return Measured{}, false
}

func (r *Rule) measuredBatch(l *Lineup) (Measured, bool) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range l.Parties {
		least, most := r.BatchSpan(p)
		low, high = min(low, least), max(high, most)
	}
	return Measured{Value: high - low, Limit: r.Max.Value}, r.Max.Set && high >= low
}

// measuredLatency returns the highest latency at the location where that is lowest.
func (r *Rule) measuredLatency(l *Lineup) (Measured, bool) {
	if !r.MaxLatency.Set || len(l.Parties) == 0 || len(l.Parties[0].Players) == 0 {
		return Measured{}, false
	}
	best := math.Inf(1)
	for location := range l.Parties[0].Players[0].Latency {
		worst := 0.0
		for _, p := range l.Parties {
			values, ok := r.LatencyValues(p, location)
			if !ok {
				worst = math.Inf(1)
				break
			}
			worst = max(worst, slices.Max(values))
		}
		best = min(best, worst)
	}
	return Measured{Value: best, Limit: r.MaxLatency.Value}, !math.IsInf(best, 1)
}

// measuredValues returns the worst of the numbers that a rule with measurements judges.
func (r *Rule) measuredValues(l *Lineup) (Measured, bool) {
	v := r.view(l)
	reference, ok := r.reference(v)
	out, numeric := r.limit(reference)
	if !ok || !numeric {
		return Measured{}, false
	}
	found := false
	note := func(n float64) {
		if !found || out.AtLeast && n < out.Value || !out.AtLeast && n > out.Value {
			out.Value, found = n, true
		}
	}
	for _, m := range r.Measurements {
		d := v.eval(m)
		if d.form == isUndefined {
			continue
		}
		if r.Type == Collection {
			r.eachCount(m.typ, d, reference, note)
			continue
		}
		d.innermost(m.typ.depth+1, func(e datum) bool {
			if r.Type == Distance {
				note(math.Abs(e.num - reference.num))
			} else {
				note(e.num)
			}
			return true
		})
	}
	return out, found
}

// limit returns the rule's bound, the upper one of two, and false for a rule without a
// number.
func (r *Rule) limit(reference datum) (Measured, bool) {
	if r.Type == Comparison {
		switch r.Operation {
		case "<", "<=":
			return Measured{Limit: reference.num}, reference.form == isNum
		case ">", ">=":
			return Measured{Limit: reference.num, AtLeast: true}, reference.form == isNum
		}
		return Measured{}, false
	}
	if r.Max.Set {
		return Measured{Limit: r.Max.Value}, true
	}
	return Measured{Limit: r.Min.Value, AtLeast: true}, r.Min.Set
}

// eachCount calls note with each count that a collection rule compares with its bounds.
func (r *Rule) eachCount(t exprType, d, reference datum, note func(float64)) {
	d.innermost(t.judged(), func(list datum) bool {
		sets := collections(t, list)
		if len(sets) == 0 {
			return true
		}
		switch r.Operation {
		case Intersection:
			note(float64(len(intersect(sets))))
		case Contains:
			n := 0
			for _, set := range sets {
				if slices.Contains(set, reference.str) {
					n++
				}
			}
			note(float64(n))
		default:
			wanted := reference.strings()
			for _, set := range sets {
				note(float64(len(intersect([][]string{set, wanted}))))
			}
		}
		return true
	})
}
