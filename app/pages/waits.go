package pages

import (
	"math"
	"time"
)

// waits is a histogram of durations: waits[i] counts those below bound(i).
type waits [34]uint32

// bound returns the upper bound of a bin, in seconds: from 10 ms, each 1.5 times the last.
func bound(i int) float64 { return 0.01 * math.Pow(1.5, float64(i)) }

func (w *waits) add(d time.Duration) {
	i := 0
	if s := d.Seconds(); s > bound(0) {
		i = min(len(w)-1, int(math.Ceil(math.Log(s/bound(0))/math.Log(1.5))))
	}
	w[i]++
}

func (w *waits) merge(o *waits) {
	for i := range w {
		w[i] += o[i]
	}
}

// quantile returns the duration in seconds below which a share of all lies, and false if
// there are none.
func (w *waits) quantile(share float64) (seconds float64, ok bool) {
	n := uint32(0)
	for _, c := range w {
		n += c
	}
	if n == 0 {
		return 0, false
	}
	rank := share * float64(n)
	for i, c := range w {
		if c == 0 || rank > float64(c) {
			rank -= float64(c)
			continue
		}
		from := 0.0
		if i > 0 {
			from = bound(i - 1)
		}
		return from + (bound(i)-from)*max(0, rank)/float64(c), true
	}
	return bound(len(w) - 1), true
}
