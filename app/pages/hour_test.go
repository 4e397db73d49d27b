package pages

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A quantile is off by at most one bin, which is half as large again as the one before.
func TestWaits_Quantile(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var w waits
		var all []float64
		for range 1 + r.IntN(500) {
			s := math.Exp(r.NormFloat64()*2 - 1)
			all = append(all, s)
			w.add(time.Duration(s * float64(time.Second)))
		}
		slices.Sort(all)
		for _, share := range []float64{.5, .9, .99} {
			got, ok := w.quantile(share)
			want := all[min(len(all)-1, int(math.Ceil(share*float64(len(all))))-1)]
			if want < bound(0) {
				want = bound(0)
			}
			if !ok || want < bound(len(waits{})-1) && (got > 1.5*want+1e-9 || got < want/1.5-bound(0)) {
				t.Fatalf("quantile %g of %d is %g, want about %g", share, len(all), got, want)
			}
		}
	}
	var none waits
	if _, ok := none.quantile(.5); ok {
		t.Error("a quantile of nothing")
	}
}

// An hour remembers an hour: what is older is gone, what comes late counts where it belongs,
// and a step of which nothing is known is a gap.
func TestHour(t *testing.T) {
	t.Parallel()
	begun := time.Unix(1_800_000_000, 0)
	now := begun.Add(time.Hour + 5*time.Second)
	var h hour
	h.add(begun.Add(-time.Minute), "games", 100, -1)
	h.add(now.Add(-10*time.Minute), "games", 2, time.Second)
	h.add(now.Add(-10*time.Minute), "games", 1, 3*time.Second)
	h.add(now.Add(-20*time.Second), "games", 4, time.Second)
	h.set(now.Add(-20*time.Second), "players", 7)
	h.set(now.Add(-20*time.Second), "players", 9)
	if counts, _ := h.since(now, 5*time.Minute); counts["games"] != 4 {
		t.Errorf("5 minutes have %d games, want 4", counts["games"])
	}
	counts, w := h.since(now, time.Hour)
	if median, ok := w.quantile(.5); counts["games"] != 7 || !ok || median < .7 || median > 1.5 {
		t.Errorf("the hour has %d games with a median of %g s, want 7 with about 1", counts["games"], median)
	}
	s := h.series(now, begun, []string{"games"}, []string{"players"})
	if n := len(s.Values["games"]); n != steps-1 || len(s.Values["players"]) != n {
		t.Fatalf("%d and %d values", n, len(s.Values["players"]))
	}
	sum, known, gaps := 0.0, 0.0, 0
	for i := range s.Values["games"] {
		if v := s.Values["games"][i]; v == nil {
			t.Errorf("step %d is a gap, though it was recorded", i)
		} else {
			sum += *v
		}
		if v := s.Values["players"][i]; v == nil {
			gaps++
		} else {
			known += *v
		}
	}
	if sum != 7 || known != 9 || gaps != steps-2 {
		t.Errorf("the series have %g games, %g players and %d gaps", sum, known, gaps)
	}
	q := h.quantiles(now)
	filled := 0
	for _, v := range q.Values["p90"] {
		if v != nil {
			filled++
		}
	}
	if filled != 2 {
		t.Errorf("%d minutes have quantiles, want 2", filled)
	}
	h.add(now.Add(2*time.Hour), "games", 1, -1)
	if counts, _ := h.since(now.Add(2*time.Hour), time.Hour); counts["games"] != 1 {
		t.Errorf("two hours later there are %d games, want 1", counts["games"])
	}
}

func TestNewest(t *testing.T) {
	t.Parallel()
	var n newest[int]
	for i := range kept + 5 {
		n.add(i)
	}
	if all := n.list(); len(all) != kept || all[0] != kept+4 || all[kept-1] != 5 {
		t.Errorf("%d are kept, from %d to %d", len(all), all[0], all[len(all)-1])
	}
}
