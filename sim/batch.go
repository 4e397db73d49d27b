package sim

import (
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// batch is the measurements of a part of the time that a simulation plays. Comparisons
// derive their intervals from how much batches differ.
type batch struct {
	from    time.Duration // the beginning; the next batch's is the end
	tickets Outcomes      // of tickets that arrived in it
	wait    sketch        // of these tickets

	formed, full, refused int // matches of that time
	latency               sketch
	values                []sketch // by rule: the number that it limits
	spreads, teams        []sketch // by number attribute
}

// newBatches returns one batch, or with a trace as many as o.Stretches with about as many
// tickets each.
func newBatches(o *Options) []*batch {
	numbers := 0
	for _, a := range o.RuleSet.Attributes {
		if a.Type == ruleset.Number {
			numbers++
		}
	}
	var out []*batch
	n := 1
	if o.Trace != nil {
		n = max(1, min(o.Stretches, len(o.Trace.Tickets)))
	}
	for i := range n {
		b := &batch{values: make([]sketch, len(o.RuleSet.Level(0).Rules)), spreads: make([]sketch, numbers), teams: make([]sketch, numbers)}
		if i > 0 {
			b.from = seconds(o.Trace.Tickets[i*len(o.Trace.Tickets)/n].At)
		}
		out = append(out, b)
	}
	return out
}

// batch returns the batch of a time.
func (t *tally) batch(at time.Duration) *batch {
	i, _ := slices.BinarySearchFunc(t.batches, at, func(b *batch, at time.Duration) int {
		if b.from <= at {
			return -1
		}
		return 1
	})
	return t.batches[i-1]
}

// merge adds the numbers of another sketch.
func (s *sketch) merge(o *sketch) {
	if o.n == 0 {
		return
	}
	if s.n == 0 {
		s.low, s.high, s.steps = o.low, o.high, map[int]int{}
	}
	s.low, s.high = min(s.low, o.low), max(s.high, o.high)
	s.n, s.zeros, s.sum = s.n+o.n, s.zeros+o.zeros, s.sum+o.sum
	for step, times := range o.steps {
		s.steps[step] += times
	}
}
