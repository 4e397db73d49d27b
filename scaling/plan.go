package scaling

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/fleet"
)

const (
	// cooldown is how long a rule waits after it acted. Its condition is still measured
	// in that time (developer guide, "Auto-scale with rule-based policies").
	cooldown = 10 * time.Minute
	// window is how many samples a target considers before it removes instances: it keeps
	// the most that any of them needed, so noise has no effect.
	window = 10
	// margin is how many additional game sessions, as a share of the running ones, a
	// target leaves room for when it removes instances: if demand came back in the next
	// minute, they would have to be created again.
	margin = 0.1
)

// Sample is the measurements of a location in one minute.
type Sample struct {
	Metrics     map[string]float64 // by name; absent if unknown
	Sessions    int                // the most game sessions at a time, including starting ones and requests that found no process
	Processes   int                // that are connected: hosting, free and unreachable ones
	Useless     int                // processes that are ready but cannot host a game session
	PerInstance int                // processes that an instance runs
}

// Memory is what Plan needs to know of previous minutes. The zero value is ready to use.
// Plan does not modify it but returns a new one.
type Memory struct {
	Streaks map[string]int       // by policy: for how many samples in a row its condition has held
	Acted   map[string]time.Time // by policy: when it last acted
	Needed  []int                // instances that the target needed, including the margin, in the last window samples
}

// Decision is the result of Plan.
type Decision struct {
	Desired int
	Why     string   // explanation; "" if nothing changes
	By      []string // names of the policies that acted
}

// Plan returns how many instances a location should have instead of those that it has
// now, applying its policies in order of their names. It is pure. No policy scales a
// location up from zero instances, because nothing can be measured there.
func Plan(now time.Time, have fleet.Capacity, s Sample, policies []*Policy, m Memory) (Decision, Memory) {
	next := Memory{Streaks: map[string]int{}, Acted: map[string]time.Time{}}
	d := Decision{Desired: have.Desired}
	var why []string
	for _, p := range policies {
		if at, ok := m.Acted[p.Name]; ok {
			next.Acted[p.Name] = at
		}
		to, reason := d.Desired, ""
		switch {
		case have.Desired == 0:
		case p.Kind == TargetBased:
			to, reason, next.Needed = steer(p, have, s, d.Desired, m.Needed)
		default:
			to, reason, next.Streaks[p.Name] = p.judge(now, s, d.Desired, m)
		}
		to = have.Within(to)
		if reason == "" || to == d.Desired {
			continue
		}
		d.Desired = to
		d.By = append(d.By, p.Name)
		why = append(why, fmt.Sprintf("policy %s: %s", p.Name, reason))
		next.Acted[p.Name] = now
	}
	d.Why = strings.Join(why, "; ")
	return d, next
}

// steer moves capacity towards a target: up immediately, and down to the most that was
// needed in the window, including the margin.
func steer(p *Policy, have fleet.Capacity, s Sample, desired int, before []int) (to int, why string, needed []int) {
	if s.PerInstance <= 0 {
		return desired, "", nil // unknown how many processes an instance runs
	}
	// The limits are applied first, so that the window does not record demand beyond
	// them.
	need := func(sessions int) int {
		return have.Within(max(1, instancesFor(sessions, s.Useless, p.Target, s.PerInstance)))
	}
	n := need(s.Sessions)
	needed = append(slices.Clone(before), need(s.Sessions+int(math.Ceil(margin*float64(s.Sessions)))))
	needed = needed[max(0, len(needed)-window):]
	why = fmt.Sprintf("%d game sessions need %d instances of %d processes to keep %g%% available", s.Sessions, n, s.PerInstance, p.Target)
	if n > desired {
		return n, why, needed
	}
	most := slices.Max(needed)
	if len(needed) == window && most < desired {
		return most, why + fmt.Sprintf(", and with a margin never more than %d in %d minutes", most, window), needed
	}
	return desired, "", needed
}

// instancesFor returns how many instances keep the target percentage of all game sessions
// available in addition to the running ones. Useless processes take room but host
// nothing.
func instancesFor(sessions, useless int, target float64, perInstance int) int {
	slots := math.Ceil(float64(sessions)/(1-target/100)-1e-9) + float64(useless)
	return int(math.Ceil(slots / float64(perInstance)))
}

// judge evaluates a rule. It also returns for how many samples in a row its condition has
// held.
func (p *Policy) judge(now time.Time, s Sample, desired int, m Memory) (to int, why string, streak int) {
	value, known := s.Metrics[p.Metric]
	if !known || !p.holds(value) {
		return desired, "", 0
	}
	streak = m.Streaks[p.Name] + 1
	if at, ok := m.Acted[p.Name]; streak < p.Periods || ok && now.Sub(at) < cooldown {
		return desired, "", streak
	}
	return p.apply(desired), fmt.Sprintf("%s is %.4g, %s %g for %d minutes", p.Metric, value, p.Comparison, p.Threshold, streak), streak
}

func (p *Policy) holds(value float64) bool {
	switch p.Comparison {
	case "GreaterThanOrEqualToThreshold":
		return value >= p.Threshold
	case "GreaterThanThreshold":
		return value > p.Threshold
	case "LessThanThreshold":
		return value < p.Threshold
	}
	return value <= p.Threshold
}

// apply returns the capacity after applying the rule. A percentage is rounded away from
// zero, so that it always has an effect.
func (p *Policy) apply(desired int) int {
	switch p.Type {
	case Exact:
		return p.By
	case Percent:
		change := float64(desired) * float64(p.By) / 100
		if change < 0 {
			return desired + int(math.Floor(change))
		}
		return desired + int(math.Min(math.Ceil(change), math.MaxInt32))
	}
	return desired + p.By
}
