package scaling

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/musterhq/muster/fleet"
)

// world is a location whose instances become active two minutes after they are desired.
type world struct {
	now      time.Time
	place    fleet.Capacity
	capacity int // instances that hosts have room for
	coming   []int
	active   int
	memory   Memory
	moves    []int // changes of desired capacity, signed
	short    int   // minutes in which game sessions found no process
}

const perHost = 10 // processes of an instance

func newWorld(have fleet.Capacity) *world {
	return &world{now: time.Unix(0, 0), place: have, capacity: math.MaxInt, active: have.Desired, coming: []int{have.Desired, have.Desired}}
}

// minute lets a minute pass with a demand of that many game sessions.
func (w *world) minute(sessions int, policies ...*Policy) Decision {
	w.now = w.now.Add(time.Minute)
	w.coming = append(w.coming, w.place.Desired)
	w.active = min(w.capacity, max(w.coming[0], min(w.active, w.place.Desired)))
	w.coming = w.coming[1:]
	running := min(sessions, w.active*perHost)
	if running < sessions {
		w.short++
	}
	s := Sample{Sessions: running, PerInstance: perHost, Metrics: map[string]float64{
		"ActiveInstances": float64(w.active), "ActiveGameSessions": float64(running),
		"QueueDepth": float64(sessions - running),
	}}
	if w.active > 0 {
		s.Metrics[targetMetric] = 100 * float64(w.active*perHost-running) / float64(w.active*perHost)
	}
	d, next := Plan(w.now, w.place, s, policies, w.memory)
	if d.Desired != w.place.Desired {
		w.moves = append(w.moves, d.Desired-w.place.Desired)
	}
	w.memory, w.place.Desired = next, d.Desired
	return d
}

func target(percent float64) *Policy {
	return &Policy{Name: "t", Kind: TargetBased, Metric: targetMetric, Target: percent}
}

func TestTarget_Step(t *testing.T) {
	t.Parallel()
	w := newWorld(fleet.Capacity{Desired: 1, Max: 100})
	const why = "policy t: 10 game sessions need 2 instances of 10 processes to keep 15% available"
	if d := w.minute(85, target(15)); d.Why != why {
		t.Errorf("it moves because %q, want %q", d.Why, why)
	}
	for range 29 {
		w.minute(85, target(15))
	}
	if w.place.Desired != 10 { // 85 is 85 % of 100
		t.Errorf("desired %d for 85 game sessions, want 10 instances of 10", w.place.Desired)
	}
	for range 9 {
		w.minute(15, target(15)) // 17 with the margin, which is 85 % of 20
	}
	if w.place.Desired != 10 {
		t.Errorf("desired %d within 10 minutes of surplus, want all kept", w.place.Desired)
	}
	for range 3 {
		w.minute(15, target(15)) // 17 with the margin, which is 85 % of 20
	}
	if w.place.Desired != 2 {
		t.Errorf("desired %d after it, want 2", w.place.Desired)
	}
}

func TestTarget_Ramp(t *testing.T) {
	t.Parallel()
	w := newWorld(fleet.Capacity{Desired: 25, Max: 1000})
	for n := range 240 { // 8 more game sessions each minute, then fewer
		w.minute(200+8*min(n, 240-n), target(20))
	}
	if w.short > 0 {
		t.Errorf("in %d minutes of a steady ramp there was no free process", w.short)
	}
	turns := 0
	for i := 1; i < len(w.moves); i++ {
		if (w.moves[i] > 0) != (w.moves[i-1] > 0) {
			turns++
		}
	}
	if turns != 1 {
		t.Errorf("capacity turned %d times on one rise and one fall: %v", turns, w.moves)
	}
}

// Noise around a load raises capacity to what its peaks need, and no further.
func TestTarget_NoiseDoesNotFlap(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(fleet.Capacity{Desired: 12, Max: 100})
		for range 30 {
			w.minute(100+random.IntN(11)-5, target(10))
		}
		w.moves = nil
		for range 24 * 60 {
			w.minute(100+random.IntN(11)-5, target(10))
		}
		if len(w.moves) > 24 {
			t.Errorf("seed %d: capacity moved %d times in a day of noise of 5 %%", seed, len(w.moves))
		}
		if w.place.Desired < 11 || w.place.Desired > 12 {
			t.Errorf("seed %d: desired %d, want 11 or 12", seed, w.place.Desired)
		}
	}
}

// A load that swings faster than the window keeps what its peaks need.
func TestTarget_SwingKeepsPeak(t *testing.T) {
	t.Parallel()
	w := newWorld(fleet.Capacity{Desired: 10, Max: 100})
	for n := range 200 {
		w.minute(20+60*(n/4%2), target(10))
	}
	if len(w.moves) > 1 {
		t.Errorf("a swing of 8 minutes moved capacity: %v", w.moves)
	}
}

func TestTarget_PoolExhausted(t *testing.T) {
	t.Parallel()
	w := newWorld(fleet.Capacity{Desired: 2, Max: 1000})
	w.capacity = 5
	for range 60 {
		w.minute(400, target(50))
	}
	if w.place.Desired != 10 { // for the 50 running game sessions
		t.Errorf("desired %d where 5 instances fit, want 10: no more than what runs asks for", w.place.Desired)
	}
	for range 20 {
		w.minute(0, target(50))
	}
	if w.place.Desired != 1 {
		t.Errorf("desired %d when all is over, want 1", w.place.Desired)
	}
}

func TestPlan_NeverFromZero(t *testing.T) {
	t.Parallel()
	rule := &Policy{Name: "r", Kind: RuleBased, Metric: "QueueDepth", Comparison: "GreaterThanThreshold", Periods: 1, Type: Change, By: 1}
	w := newWorld(fleet.Capacity{Desired: 0, Max: 10})
	for range 20 {
		if d := w.minute(50, target(10), rule); d.Desired != 0 {
			t.Fatalf("%+v: scaled from zero", d)
		}
	}
}

func TestRule(t *testing.T) {
	t.Parallel()
	up := &Policy{Name: "up", Kind: RuleBased, Metric: targetMetric, Comparison: "LessThanThreshold", Threshold: 20, Periods: 3, Type: Change, By: 2}
	w := newWorld(fleet.Capacity{Desired: 10, Max: 100})
	at := func(minute, sessions, want int) {
		t.Helper()
		if w.minute(sessions, up); w.place.Desired != want {
			t.Fatalf("minute %d: desired %d, want %d", minute, w.place.Desired, want)
		}
	}
	at(1, 95, 10)
	at(2, 95, 10)
	at(3, 50, 10) // breaks the condition: the period begins anew
	at(4, 95, 10)
	at(5, 95, 10)
	at(6, 95, 12)
	for minute := 7; minute < 16; minute++ {
		at(minute, 200, 12) // waits 10 minutes and continues measuring
	}
	at(16, 200, 14)
}

func TestRule_PoliciesDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	rule := func(name string, by int) *Policy {
		return &Policy{Name: name, Kind: RuleBased, Metric: "ActiveInstances", Comparison: "GreaterThanOrEqualToThreshold", Threshold: 1, Periods: 1, Type: Change, By: by}
	}
	w := newWorld(fleet.Capacity{Desired: 10, Max: 100})
	d := w.minute(0, rule("a", 1), rule("b", 5))
	const why = "policy a: ActiveInstances is 10, GreaterThanOrEqualToThreshold 1 for 1 minutes; policy b: ActiveInstances is 10, GreaterThanOrEqualToThreshold 1 for 1 minutes"
	if d.Desired != 16 || len(d.By) != 2 || d.Why != why {
		t.Errorf("%+v, want both to act", d)
	}
}

func TestRule_Adjustments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind     Adjustment
		by, want int
	}{
		{Change, 3, 13}, {Change, -30, 2}, {Change, 100, 50}, {Exact, 7, 7}, {Exact, 0, 2},
		{Percent, 25, 13}, {Percent, 1, 11}, {Percent, -1, 9}, {Percent, -25, 7}, {Percent, math.MaxInt32, 50},
	} {
		p := &Policy{Name: "p", Kind: RuleBased, Metric: "IdleInstances", Comparison: "LessThanOrEqualToThreshold", Threshold: 1, Periods: 1, Type: c.kind, By: c.by}
		d, _ := Plan(time.Unix(0, 0), fleet.Capacity{Desired: 10, Min: 2, Max: 50}, Sample{Metrics: map[string]float64{"IdleInstances": 1}}, []*Policy{p}, Memory{})
		if d.Desired != c.want {
			t.Errorf("%s %d from 10: %d, want %d", c.kind, c.by, d.Desired, c.want)
		}
	}
}

func TestRule_UnknownMetricHolds(t *testing.T) {
	t.Parallel()
	p := &Policy{Name: "p", Kind: RuleBased, Metric: targetMetric, Comparison: "LessThanThreshold", Threshold: 50, Periods: 1, Type: Change, By: 1}
	d, next := Plan(time.Unix(0, 0), fleet.Capacity{Desired: 1, Max: 5}, Sample{}, []*Policy{p}, Memory{Streaks: map[string]int{"p": 9}})
	if d.Desired != 1 || next.Streaks["p"] != 0 {
		t.Errorf("%+v %+v: acted on what cannot be told", d, next)
	}
}

// With any policies and load, capacity stays within its limits, every change has a
// reason, and with a steady load capacity settles.
func TestPlan_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.IntRange(0, 5).Draw(t, "min")
		high := rapid.IntRange(low, 40).Draw(t, "max")
		w := newWorld(fleet.Capacity{Desired: rapid.IntRange(low, high).Draw(t, "desired"), Min: low, Max: high})
		policies := []*Policy{target(rapid.Float64Range(0, 95).Draw(t, "target"))}
		fought := rapid.Bool().Draw(t, "with rule")
		if fought {
			policies = append(policies, &Policy{
				Name: "u", Kind: RuleBased, Metric: "ActiveGameSessions", Comparison: rapid.SampledFrom(comparisons).Draw(t, "comparison"),
				Threshold: rapid.Float64Range(0, 200).Draw(t, "threshold"), Periods: rapid.IntRange(1, 5).Draw(t, "periods"),
				Type: rapid.SampledFrom([]Adjustment{Change, Exact, Percent}).Draw(t, "type"), By: rapid.IntRange(0, 50).Draw(t, "by"),
			})
		}
		step := func(sessions int) {
			was := w.place.Desired
			d := w.minute(sessions, policies...)
			if d.Desired < low || d.Desired > high {
				t.Fatalf("desired %d is outside of %d to %d", d.Desired, low, high)
			}
			if (d.Desired != was) != (d.Why != "") && len(d.By) < 2 {
				t.Fatalf("from %d to %d, because %q", was, d.Desired, d.Why)
			}
		}
		for _, sessions := range rapid.SliceOfN(rapid.IntRange(0, 300), 0, 60).Draw(t, "load") {
			step(sessions)
		}
		if fought {
			return // a rule may counteract a target forever, as configured
		}
		steady := rapid.IntRange(0, 300).Draw(t, "steady")
		for range 400 { // a small target climbs one instance at a time
			step(steady)
		}
		w.moves = nil
		for range 60 {
			step(steady)
		}
		if len(w.moves) > 0 {
			t.Fatalf("a steady load still moves capacity: %v", w.moves)
		}
	})
}

func TestInput_Refusals(t *testing.T) {
	t.Parallel()
	number := func(n int) *int { return &n }
	value := func(v float64) *float64 { return &v }
	rule := Input{Metric: "IdleInstances", Comparison: comparisons[0], Threshold: value(1), Type: Change, By: number(1), Periods: number(1)}
	if p, err := rule.policy(); err != nil || p.Periods != 1 || p.Kind != RuleBased {
		t.Fatalf("a plain rule: %+v, %v", p, err)
	}
	for i, change := range []func(*Input){
		func(in *Input) { in.Threshold = nil },
		func(in *Input) { in.By = nil },
		func(in *Input) { in.Type = "x" },
		func(in *Input) { in.Comparison = "x" },
		func(in *Input) { in.Periods = number(0) },
		func(in *Input) { in.Periods = nil },
		func(in *Input) { in.Target = value(1) },
		func(in *Input) { in.Type, in.By = Exact, number(-1) },
		func(in *Input) { in.Threshold = value(math.NaN()) },
		func(in *Input) { in.Kind = "x" },
		func(in *Input) { *in = Input{Kind: TargetBased, Metric: "IdleInstances", Target: value(10)} },
		func(in *Input) { *in = Input{Kind: TargetBased, Metric: targetMetric} },
		func(in *Input) { *in = Input{Kind: TargetBased, Metric: targetMetric, Target: value(100)} },
		func(in *Input) {
			*in = Input{Kind: TargetBased, Metric: targetMetric, Target: value(10), By: number(1)}
		},
	} {
		in := rule
		change(&in)
		if p, err := in.policy(); err == nil {
			t.Errorf("case %d: %s was taken", i, fmt.Sprintf("%+v", p))
		}
	}
}
