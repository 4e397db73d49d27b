package pages

import (
	"math"
	"sync"
	"time"
)

const (
	step  = 10 * time.Second // of time series
	steps = 360              // an hour
	kept  = 100              // newest things kept of each kind
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

// slot is what happened in one step.
type slot struct {
	at     int64 // number of the step since 1970
	counts map[string]int
	waits  waits // of what was done
}

// hour records an hour of what happened in one place: a queue, a matchmaking configuration
// or the whole cell.
type hour struct {
	mu    sync.Mutex
	slots [steps]*slot
}

// add counts something at a time, and how long it took if took is not negative.
func (h *hour) add(at time.Time, what string, n int, took time.Duration) {
	number := at.UnixNano() / int64(step)
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.slots[number%steps]
	if s == nil || s.at < number {
		s = &slot{at: number, counts: map[string]int{}}
		h.slots[number%steps] = s
	}
	if s.at > number {
		return // more than an hour late
	}
	s.counts[what] += n
	if took >= 0 {
		s.waits.add(took)
	}
}

// set sets a value that is sampled in each step.
func (h *hour) set(at time.Time, what string, n int) {
	h.add(at, what, 0, -1)
	number := at.UnixNano() / int64(step)
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.slots[number%steps]; s != nil && s.at == number {
		s.counts[what] = n
	}
}

// since returns the sum of counts and waits of the steps that ended after now - d.
func (h *hour) since(now time.Time, d time.Duration) (counts map[string]int, w waits) {
	first := now.Add(-d).UnixNano() / int64(step)
	counts = map[string]int{}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.slots {
		if s == nil || s.at < first || s.at > now.UnixNano()/int64(step) {
			continue
		}
		for what, n := range s.counts {
			counts[what] += n
		}
		w.merge(&s.waits)
	}
	return counts, w
}

// Series are values by time: From, From + Step, … A null is a step of which nothing is
// known.
type Series struct {
	From   time.Time             `json:"from"`
	Step   int64                 `json:"step_ms"`
	Values map[string][]*float64 `json:"values"`
}

// series returns the last hour without the step that has not ended. Values named in sampled
// are null in steps without one; others are 0 there since the recording began.
func (h *hour) series(now, begun time.Time, counted, sampled []string) Series {
	last := now.UnixNano() / int64(step) // has not ended
	first := last - steps + 1
	out := Series{From: time.Unix(0, first*int64(step)).UTC(), Step: step.Milliseconds(), Values: map[string][]*float64{}}
	h.mu.Lock()
	defer h.mu.Unlock()
	at := func(number int64) *slot {
		if s := h.slots[((number%steps)+steps)%steps]; s != nil && s.at == number {
			return s
		}
		return nil
	}
	zero := 0.0
	for _, what := range counted {
		values := make([]*float64, 0, steps-1)
		for number := first; number < last; number++ {
			var v *float64
			if time.Unix(0, (number+1)*int64(step)).After(begun) {
				v = &zero
			}
			if s := at(number); s != nil && s.counts[what] != 0 {
				n := float64(s.counts[what])
				v = &n
			}
			values = append(values, v)
		}
		out.Values[what] = values
	}
	for _, what := range sampled {
		values := make([]*float64, 0, steps-1)
		for number := first; number < last; number++ {
			var v *float64
			if s := at(number); s != nil {
				if n, ok := s.counts[what]; ok {
					f := float64(n)
					v = &f
				}
			}
			values = append(values, v)
		}
		out.Values[what] = values
	}
	return out
}

// quantiles returns the quantiles of waits by minute of the last hour.
func (h *hour) quantiles(now time.Time) Series {
	const each = 6 // steps
	last := now.UnixNano() / int64(step)
	first := last - steps + each - (last % each)
	out := Series{From: time.Unix(0, first*int64(step)).UTC(), Step: each * step.Milliseconds(), Values: map[string][]*float64{}}
	h.mu.Lock()
	defer h.mu.Unlock()
	for from := first; from+each <= last; from += each {
		var w waits
		for number := from; number < from+each; number++ {
			if s := h.slots[((number%steps)+steps)%steps]; s != nil && s.at == number {
				w.merge(&s.waits)
			}
		}
		for name, share := range map[string]float64{"p50": .5, "p90": .9, "p99": .99} {
			var v *float64
			if s, ok := w.quantile(share); ok {
				v = &s
			}
			out.Values[name] = append(out.Values[name], v)
		}
	}
	return out
}

// newest keeps the newest things of a kind.
type newest[T any] struct {
	mu  sync.Mutex
	all []T // oldest first
}

func (n *newest[T]) add(v T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.all) == kept {
		copy(n.all, n.all[1:])
		n.all = n.all[:kept-1]
	}
	n.all = append(n.all, v)
}

// list returns what is kept, newest first.
func (n *newest[T]) list() []T {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := make([]T, 0, len(n.all))
	for i := len(n.all) - 1; i >= 0; i-- {
		out = append(out, n.all[i])
	}
	return out
}
