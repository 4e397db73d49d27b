package pages

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// The interval has the true median in 95 of 100 samples, whatever the values are; so two
// samples of the same values rarely differ clearly, and of shifted ones do.
func TestSpread_Interval(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	draw := func(n int, by float64) []float64 {
		var out []float64
		for range n {
			out = append(out, by+r.ExpFloat64())
		}
		slices.Sort(out)
		return out
	}
	const rounds = 2000
	hit, clear, found := 0, 0, 0
	for range rounds {
		n := 20 + r.IntN(300)
		s := spreadOf(draw(n, 0), 1, 3)
		if s.Low <= math.Ln2 && math.Ln2 <= s.High {
			hit++
		}
		if s.N != n || s.Low > s.Median || s.Median > s.High || s.High > s.P90 || s.Counts[0]+s.Counts[1]+s.Counts[2] != n {
			t.Fatalf("%+v of %d", s, n)
		}
		var same, other Measure
		if !same.compare(draw(n, 0), draw(n, 0)) || !other.compare(draw(300, 1), draw(300, 0)) {
			t.Fatal("nothing to compare")
		}
		if same.Change.Clear {
			clear++
		}
		if other.Change.Clear && other.Change.By > 0.5 && other.Change.By < 1.5 {
			found++
		}
	}
	if hit < 93*rounds/100 || hit > 98*rounds/100 {
		t.Errorf("the interval has the median in %d of %d samples", hit, rounds)
	}
	if clear > rounds/50 {
		t.Errorf("%d of %d equal pairs differ clearly", clear, rounds)
	}
	if found != rounds {
		t.Errorf("%d of %d shifted pairs differ clearly", found, rounds)
	}
}

// Bins hold every value, and the limit if it is near.
func TestMeasure_Bins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values      []float64
		limit, step float64
	}{
		{[]float64{0}, 0, 1}, {[]float64{0, 29}, 0, 1}, {[]float64{1, 31}, 0, 2}, {[]float64{.1, .29}, 0, .01}, {[]float64{3, 40}, 100, 5}, {[]float64{3}, 100, .2},
	} {
		m := Measure{}
		if c.limit > 0 {
			m.Limits = []Limit{{At: c.limit}}
		}
		m.compare(c.values, nil)
		sum := 0
		for _, n := range m.Now.Counts {
			sum += n
		}
		if math.Abs(m.Step-c.step) > 1e-9 || sum != len(c.values) || len(m.Now.Counts) > qualityBins || m.Change != nil || m.Before != nil {
			t.Errorf("%v with the limit %g: %+v, want the step %g", c.values, c.limit, m, c.step)
		}
	}
}

// The newest matches are kept, in order.
func TestScales(t *testing.T) {
	t.Parallel()
	var s scales
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	for i := range 3*matchesKept + 7 {
		s.add(at.Add(time.Duration(i)*time.Second), "rules", []measured{{Measure{Key: "a"}, float64(i)}})
		if i == 500 || i == 3*matchesKept+6 {
			_, found, _ := s.since(at.Add(-time.Hour))
			if want := min(i+1, matchesKept); len(found) != want || found[len(found)-1].values[0] != float64(i) || found[0].values[0] != float64(i+1-want) {
				t.Fatalf("after %d: %d matches from %v to %v", i, len(found), found[0], found[len(found)-1])
			}
		}
	}
	_, found, _ := s.since(at.Add((3*matchesKept - 3) * time.Second))
	if len(found) != 9 {
		t.Errorf("%d matches are newer, want 9", len(found))
	}
	for i := range 500 {
		s.add(at.Add(10*time.Hour), "rules", []measured{{Measure{Key: string(rune('A' + i))}, 1}})
	}
	if keys, _, _ := s.since(at); len(keys) > 4*(rulesMost+2*attributesMost) {
		t.Errorf("%d keys", len(keys))
	}
}
