package pages

import (
	"math"
	"slices"
	"sync"
	"time"
)

// history records what happened in one place (a queue, a matchmaking configuration, a fleet
// or the whole cell) in the steps of each resolution. Its zero value is empty.
type history struct {
	mu    sync.Mutex
	rings [len(resolutions)]ring
}

// each calls f with each ring, and the place in it of the step in which a time is.
func (h *history) each(at time.Time, f func(r *ring, place int)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.rings {
		of := &resolutions[i]
		if place, ok := h.rings[i].at(of, of.number(at)); ok {
			f(&h.rings[i], place)
		}
	}
}

// count counts something at a time.
func (h *history) count(at time.Time, what string) {
	h.each(at, func(r *ring, place int) { r.add(place, what, 1) })
}

// took is like count for something that has a duration.
func (h *history) took(at time.Time, what string, d time.Duration) {
	h.each(at, func(r *ring, place int) {
		r.add(place, what, 1)
		r.waitsAt(place, what).add(d)
	})
}

// sample records values of a moment. A series has the mean of a step's samples.
func (h *history) sample(at time.Time, values map[string]int) {
	h.each(at, func(r *ring, place int) {
		r.samples[place]++
		for name, n := range values {
			r.add(place, name, uint32(max(0, min(n, math.MaxInt32))))
		}
	})
}

// since returns the sums of the counts and, for what has a duration, of the waits in the newest
// steps of a resolution: those that have ended, and the one that has not.
func (h *history) since(now time.Time, in, steps int) (counts map[string]int, took map[string]waits) {
	of := &resolutions[in]
	last := of.number(now)
	counts, took = map[string]int{}, map[string]waits{}
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &h.rings[in]
	for number := last - int64(steps); number <= last; number++ {
		place, ok := r.find(of, number)
		if !ok {
			continue
		}
		for name, v := range r.values {
			if n := v[place]; n > 0 {
				counts[name] += int(n)
			}
		}
		for name, all := range r.took {
			if all[place] != nil {
				sum := took[name]
				sum.merge(all[place])
				took[name] = sum
			}
		}
	}
	return counts, took
}

// in returns the sums of the counts and waits of a range.
func (h *history) in(now time.Time, s Range) (counts map[string]int, took map[string]waits) {
	return h.since(now, s.in, s.steps)
}

// lately returns the sums of the counts and waits of the time over which lights judge.
func (h *history) lately(now time.Time) (counts map[string]int, took map[string]waits) {
	return h.since(now, fine, int(recent/resolutions[fine].step))
}

// Series are values by time: From, From + Step, … A null is a step of which nothing is
// known.
type Series struct {
	From   time.Time             `json:"from"`
	Begun  time.Time             `json:"begun,omitzero"` // of the first step in which a node recorded
	Step   int64                 `json:"step_ms"`
	Values map[string][]*float64 `json:"values"`
}

// empty returns the series of a range without values, and the numbers of its steps. The step
// that has not ended is one of them if steps are so long that one does not want to wait for
// its end.
func (s Range) empty(now time.Time) (out Series, first, end int64) {
	of := &resolutions[s.in]
	end = of.number(now)
	first = end - int64(s.steps)
	if s.in != fine {
		end++
	}
	return Series{From: of.start(first), Step: of.step.Milliseconds(), Values: map[string][]*float64{}}, first, end
}

// first returns when the first of the steps begins that is known, zero if none is.
func (s Range) first(now time.Time, known []bool) (at time.Time) {
	if i := slices.Index(known, true); i >= 0 {
		_, first, _ := s.empty(now)
		at = resolutions[s.in].start(first + int64(i))
	}
	return at
}

// series returns what was counted and sampled in a range. A step that has not ended has
// samples, but no counts, which would be too low. ran reports for which steps, from the
// first, counts are known: without a value they are 0 there.
func (h *history) series(now time.Time, s Range, ran []bool, counted, sampled []string) Series {
	out, first, end := s.empty(now)
	of := &resolutions[s.in]
	open := of.number(now)
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &h.rings[s.in]
	fill := func(name string, value func(place int, n uint32) *float64, none func(i int) *float64) {
		values := make([]*float64, end-first)
		all := r.values[name]
		for i := range values {
			if place, ok := r.find(of, first+int64(i)); ok && all != nil {
				values[i] = value(place, all[place])
			}
			if values[i] == nil {
				values[i] = none(i)
			}
		}
		out.Values[name] = values
	}
	zero := 0.0
	for _, name := range counted {
		fill(name, func(_ int, n uint32) *float64 { return pointer(float64(n), n > 0) }, func(i int) *float64 {
			if !ran[i] {
				return nil
			}
			return &zero
		})
		if open < end {
			out.Values[name][open-first] = nil
		}
	}
	for _, name := range sampled {
		fill(name, func(place int, n uint32) *float64 {
			times := r.samples[place]
			return pointer(math.Round(10*float64(n)/float64(max(1, times)))/10, times > 0)
		}, func(int) *float64 { return nil })
	}
	return out
}

// has reports for each step of a range, from the first, whether something was counted in it.
func (h *history) has(now time.Time, s Range, what string) []bool {
	_, first, end := s.empty(now)
	out := make([]bool, end-first)
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &h.rings[s.in]
	for i := range out {
		if place, ok := r.find(&resolutions[s.in], first+int64(i)); ok && r.values[what] != nil {
			out[i] = r.values[what][place] > 0
		}
	}
	return out
}

// quantiles returns the quantiles of how long something took in a range, of several steps each;
// the last of them may not have ended.
func (h *history) quantiles(now time.Time, s Range, what string) Series {
	out, first, end := s.empty(now)
	each := int64(s.each)
	first += (each - first%each) % each
	of := &resolutions[s.in]
	out.From, out.Step = of.start(first), each*out.Step
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &h.rings[s.in]
	all := r.took[what]
	for from := first; from < end; from += each {
		var w waits
		for number := from; all != nil && number < from+each; number++ {
			if place, ok := r.find(of, number); ok && all[place] != nil {
				w.merge(all[place])
			}
		}
		for name, v := range w.quantiles() {
			out.Values[name] = append(out.Values[name], v)
		}
	}
	return out
}
