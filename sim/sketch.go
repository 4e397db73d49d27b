package sim

import (
	"maps"
	"math"
	"slices"
)

// sketch summarizes many numbers of at least 0 in little memory: it counts the numbers in
// logarithmic steps of 2 %, so that every quantile is accurate to 1 %.
type sketch struct {
	n, zeros  int
	sum       float64
	low, high float64
	steps     map[int]int
}

// growth is the logarithm of the ratio between two steps of a sketch.
var growth = math.Log(1.02)

func (s *sketch) add(v float64) { s.addTimes(v, 1) }

func (s *sketch) addTimes(v float64, times int) {
	if s.n == 0 {
		s.low, s.high, s.steps = v, v, map[int]int{}
	}
	s.low, s.high = min(s.low, v), max(s.high, v)
	s.n += times
	s.sum += v * float64(times)
	if v < 1e-6 {
		s.zeros += times
		return
	}
	s.steps[int(math.Floor(math.Log(v)/growth))] += times
}

// Quantiles summarizes many numbers. All members are 0 if there are none.
type Quantiles struct {
	Count int     `json:"count"`
	Mean  float64 `json:"mean"`
	P10   float64 `json:"p10"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

func (s *sketch) quantiles() Quantiles {
	if s.n == 0 {
		return Quantiles{}
	}
	at := s.at(0.1, 0.5, 0.9, 0.95, 0.99)
	return Quantiles{Count: s.n, Mean: round(s.sum / float64(s.n)), P10: at[0], P50: at[1], P90: at[2], P95: at[3], P99: at[4], Max: round(s.high)}
}

// at returns the quantiles for shares, which must be ascending.
func (s *sketch) at(shares ...float64) []float64 {
	out := make([]float64, len(shares))
	steps := slices.Sorted(maps.Keys(s.steps))
	i, seen, value := 0, s.zeros, 0.0
	for n, share := range shares {
		rank := int(math.Ceil(share * float64(s.n)))
		for ; seen < rank && i < len(steps); i++ {
			seen += s.steps[steps[i]]
			value = math.Exp((float64(steps[i]) + 0.5) * growth)
		}
		out[n] = round(min(max(value, s.low), s.high))
	}
	return out
}

// round rounds to three decimals, enough for people.
func round(v float64) float64 { return math.Round(v*1000) / 1000 }
