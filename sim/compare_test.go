package sim

import (
	"math"
	"testing"
	"time"
)

// measured returns a batch in which one wait is known.
func measured(wait float64) *batch {
	b := &batch{}
	b.wait.add(wait)
	return b
}

// Known numbers have the interval in a table of Student's distribution, and what
// differs less than it varies is unclear.
func TestCompare_Intervals(t *testing.T) {
	m := measure{name: "wait", better: "lower", of: func(b *batch) float64 {
		if b.wait.n == 0 {
			return math.NaN()
		}
		return b.wait.sum
	}}
	row, ok := m.compare([]*batch{measured(10), measured(12), measured(14), {}}, []*batch{measured(9), measured(11.5), measured(12), measured(5)})
	if !ok || row.A != 12 || math.Abs(row.RangeA.Low-(12-4.303*2/math.Sqrt(3))) > 0.01 {
		t.Errorf("%+v, %+v", row, row.RangeA)
	}
	// The differences are -1, -0.5 and -2: their interval includes 0.
	if row.Is != IsUnclear || math.Abs(row.Delta+1.167) > 0.001 || row.Range.High < 0 {
		t.Errorf("%+v, %+v", row, row.Range)
	}
	row, _ = m.compare([]*batch{measured(10), measured(20), measured(30)}, []*batch{measured(9), measured(19.1), measured(28.9)})
	if row.Is != IsBetter || row.RangeA.Low > row.B {
		t.Errorf("the same players gain a second each, although they differ much: %+v", row)
	}
	row, _ = m.compare([]*batch{measured(10)}, []*batch{measured(11)})
	if row.Is != IsWorse || row.Range != nil {
		t.Errorf("of one run: %+v", row)
	}
	if _, ok = m.compare([]*batch{measured(math.NaN())}, []*batch{measured(1)}); ok {
		t.Error("a measure of nothing")
	}
}

// A distribution's shares add up, whatever its bins, and agree with its quantiles.
func TestHistogram(t *testing.T) {
	var a, b sketch
	for i := range 1000 {
		a.add(float64(i))
		b.add(float64(i % 2 * 100))
	}
	p, _ := pair("x", "s", &a, &b)
	if p.Step != 50 || p.Count != [2]int{1000, 1000} {
		t.Fatalf("%+v", p)
	}
	for _, shares := range [][]float64{p.A, p.B} {
		sum := 0.0
		for _, v := range shares {
			sum += v
		}
		if math.Abs(sum-100) > 0.1 {
			t.Errorf("%v add up to %v", shares, sum)
		}
	}
	if math.Abs(p.A[3]-5) > 1 || p.B[0] != 50 || p.B[1]+p.B[2] != 50 {
		t.Errorf("%v\n%v", p.A, p.B)
	}
	cut, over := a.histogram(10)
	if math.Abs(over-76) > 1 || cut[bins-1] < over {
		t.Errorf("%v beyond the end, of which the last bin has %v", over, cut[bins-1])
	}
}

// A stretch of time that the end cuts short is not drawn: its counts are of less time.
func TestOver_WithoutTail(t *testing.T) {
	for _, c := range []struct {
		length         time.Duration
		moments, drawn int
	}{{10 * time.Second, 10, 10}, {10500 * time.Millisecond, 11, 10}, {1000 * time.Second, 120, 120}} {
		o := anyTwo(t, 60)
		o.For = c.length
		r, err := Run(o)
		if err != nil {
			t.Fatal(err)
		}
		points := over(r, waitOf)
		if len(r.Timeline) != c.moments || len(points) != c.drawn {
			t.Errorf("%s: %d moments, %d of them drawn; want %d and %d", c.length, len(r.Timeline), len(points), c.moments, c.drawn)
		}
	}
}
