package sim

import (
	"maps"
	"math"
	"slices"
)

// Pair is the distributions of one number under two rule sets, on the same axis.
type Pair struct {
	Name  string     `json:"name"`
	Unit  string     `json:"unit,omitzero"`
	Step  float64    `json:"step"` // width of a bin; the first begins at 0, the last also has all beyond it
	A     []float64  `json:"a"`    // share of each bin in %
	B     []float64  `json:"b"`
	Count [2]int     `json:"count"`           // how many numbers
	Limit []*float64 `json:"limit,omitempty"` // that a rule of A and of B sets before any expansion; nil if it sets none
	Over  [2]float64 `json:"over"`            // share of the numbers in the last bin beyond its end, in %
}

// bins is the number of bins of a distribution.
const bins = 24

// whole returns all batches as one.
func whole(list []*batch) *batch {
	out := &batch{values: make([]sketch, len(list[0].values)), spreads: make([]sketch, len(list[0].spreads)), teams: make([]sketch, len(list[0].teams))}
	for _, b := range list {
		out.wait.merge(&b.wait)
		out.latency.merge(&b.latency)
		for i := range b.values {
			out.values[i].merge(&b.values[i])
		}
		for i := range b.spreads {
			out.spreads[i].merge(&b.spreads[i])
			out.teams[i].merge(&b.teams[i])
		}
	}
	return out
}

// pairs returns the distributions of waits, of the numbers that rules of both sets limit,
// and of the other measures of the quality of matches.
func pairs(ra, rb *Report, a, b *batch) []Pair {
	out := []Pair{}
	add := func(name, unit string, x, y *sketch, limit ...*float64) {
		p, ok := pair(name, unit, x, y)
		same := func(o Pair) bool { return o.Count == p.Count && slices.Equal(o.A, p.A) && slices.Equal(o.B, p.B) }
		if ok && !slices.ContainsFunc(out, same) { // a rule may limit just what is measured
			p.Limit = limit
			out = append(out, p)
		}
	}
	add("wait", "s", &a.wait, &b.wait)
	latency := false
	for _, u := range ra.Rules {
		i := slices.IndexFunc(rb.Rules, func(o RuleUse) bool { return o.Name == u.Name && o.Type == u.Type })
		if i < 0 {
			continue
		}
		unit := ""
		if u.Type == "latency" {
			latency, unit = true, "ms"
		}
		add(u.Name, unit, &a.values[u.index], &b.values[rb.Rules[i].index], u.Limit, rb.Rules[i].Limit)
	}
	if !latency {
		add("latency", "ms", &a.latency, &b.latency)
	}
	for i, s := range ra.Attributes {
		if i < len(rb.Attributes) && rb.Attributes[i].Name == s.Name {
			add(s.Name+" spread", "", &a.spreads[i], &b.spreads[i])
			add(s.Name+" of teams", "", &a.teams[i], &b.teams[i])
		}
	}
	return out
}

// pair returns false if there is no number.
func pair(name, unit string, a, b *sketch) (Pair, bool) {
	if a.n+b.n == 0 {
		return Pair{}, false
	}
	top := 0.0
	for _, s := range []*sketch{a, b} {
		if s.n > 0 {
			top = max(top, s.at(.99)[0])
		}
	}
	p := Pair{Name: name, Unit: unit, Step: binOf(top), Count: [2]int{a.n, b.n}}
	p.A, p.Over[0] = a.histogram(p.Step)
	p.B, p.Over[1] = b.histogram(p.Step)
	return p, true
}

// binOf returns a width with which all bins reach to top: a round number.
func binOf(top float64) float64 {
	least := top / bins
	if !(least > 0) {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(least)))
	for _, times := range []float64{1, 1.5, 2, 2.5, 3, 4, 5, 6, 8} {
		if unit*times >= least*(1-1e-9) {
			return unit * times
		}
	}
	return unit * 10
}

// histogram returns the share of each bin of a width, and that of numbers beyond the last.
func (s *sketch) histogram(width float64) (shares []float64, over float64) {
	shares = make([]float64, bins)
	if s.n == 0 {
		return shares, 0
	}
	part := 100 / float64(s.n)
	shares[0] = float64(s.zeros) * part
	for _, step := range slices.Sorted(maps.Keys(s.steps)) { // in order: sums of fractions depend on it
		v := min(max(math.Exp((float64(step)+.5)*growth), s.low), s.high)
		share := float64(s.steps[step]) * part
		i := int(v / width)
		if i >= bins {
			i, over = bins-1, over+share
		}
		shares[i] += share
	}
	for i := range shares {
		shares[i] = round(shares[i])
	}
	return shares, round(over)
}
