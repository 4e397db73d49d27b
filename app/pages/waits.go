package pages

import (
	"math"
	"time"
)

// waits is a histogram of durations.
type waits struct {
	counts  waitCounts
	longest time.Duration // of all
}

// waitCounts are the bins of a histogram of durations: waitCounts[i] counts those up to
// bound(i), the last also those above.
type waitCounts [34]uint32

// bound returns the upper bound of a bin, in seconds: from 10 ms, each 1.5 times the last.
func bound(i int) float64 { return 0.01 * math.Pow(1.5, float64(i)) }

func (w *waits) add(d time.Duration) {
	i := 0
	if s := d.Seconds(); s > bound(0) {
		i = min(len(w.counts)-1, int(math.Ceil(math.Log(s/bound(0))/math.Log(1.5))))
	}
	w.counts[i]++
	w.longest = max(w.longest, d)
}

func (w *waits) merge(o *waits) {
	for i := range w.counts {
		w.counts[i] += o.counts[i]
	}
	w.longest = max(w.longest, o.longest)
}

// quantile returns the duration in seconds below which a share of all lies, never more than
// the longest, and false if there are none.
func (w waits) quantile(share float64) (seconds float64, ok bool) {
	n := uint32(0)
	for _, c := range w.counts {
		n += c
	}
	if n == 0 {
		return 0, false
	}
	longest := w.longest.Seconds()
	rank := share * float64(n)
	for i, c := range w.counts {
		if c == 0 || rank > float64(c) {
			rank -= float64(c)
			continue
		}
		from, to := 0.0, min(bound(i), longest)
		if i > 0 {
			from = min(bound(i-1), longest)
		}
		if i == len(w.counts)-1 {
			to = longest
		}
		return from + (to-from)*max(0, rank)/float64(c), true
	}
	return longest, true
}

// quantiles returns the quantiles that pages show, in seconds; nil if there are none.
func (w waits) quantiles() map[string]*float64 {
	out := map[string]*float64{}
	for name, share := range map[string]float64{"p50": .5, "p90": .9, "p99": .99} {
		out[name] = pointer(w.quantile(share))
	}
	return out
}
