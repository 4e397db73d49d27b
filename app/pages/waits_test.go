package pages

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A quantile is off by at most one bin, which is half as large again as the one before, and
// never above the longest wait.
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
			if longest := all[len(all)-1]; got > longest {
				t.Fatalf("quantile %g of %d is %g, and the longest is %g", share, len(all), got, longest)
			}
			if want < bound(0) {
				want = bound(0)
			}
			if !ok || want < bound(len(waitCounts{})-1) && (got > 1.5*want+1e-9 || got < want/1.5-bound(0)) {
				t.Fatalf("quantile %g of %d is %g, want about %g", share, len(all), got, want)
			}
		}
	}
	var long waits
	long.add(3 * time.Hour)
	if got, _ := long.quantile(1); got != (3 * time.Hour).Seconds() {
		t.Errorf("the highest quantile of a wait of 3 hours is %g s", got)
	}
	var none waits
	if _, ok := none.quantile(.5); ok {
		t.Error("a quantile of nothing")
	}
}
