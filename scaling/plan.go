package scaling

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

const (
	// cooldown is how long a rule waits after it acted, while its period goes on
	// being measured (developer guide, "Auto-scale with rule-based policies").
	cooldown = 10 * time.Minute
	// window is how many samples a target looks back before it lets instances go:
	// as many as were needed in any of them stay, so noise moves nothing.
	window = 10
	// margin is how many game sessions more, as a share of those that run, a target
	// leaves room for when it lets instances go: what comes back next minute would
	// have to be made again.
	margin = 0.1
)

// Sample is what was measured in a location in one minute.
type Sample struct {
	Metrics     map[string]float64 // by name; absent where it cannot be told
	Sessions    int                // game sessions, starting ones included
	Useless     int                // processes that are ready but cannot be given a game session
	PerInstance int                // processes that an instance runs
}

// Place is how many instances a location has to have.
type Place struct{ Desired, Min, Max int }

func (p Place) hold(n int) int { return max(p.Min, min(p.Max, n)) }

// Memory is what Plan has to know of the minutes before. The zero value knows
// nothing. It is changed by no call: each gives a new one.
type Memory struct {
	Streaks map[string]int       // by policy: for how many samples in a row its condition holds
	Acted   map[string]time.Time // by policy: when it acted last
	Needed  []int                // instances that the target needed, with the margin: the last window samples
}

// Decision is what a plan came to.
type Decision struct {
	Desired int
	Why     string   // for people; "" where nothing changes
	By      []string // names of the policies that acted
}

// Plan says how many instances a location shall have, by its policies, in order
// of their names. It is pure. No policy brings a location up from zero
// instances: nothing can be measured there.
func Plan(now time.Time, place Place, s Sample, policies []*Policy, m Memory) (Decision, Memory) {
	next := Memory{Streaks: map[string]int{}, Acted: map[string]time.Time{}}
	d := Decision{Desired: place.Desired}
	var why []string
	for _, p := range policies {
		if at, ok := m.Acted[p.Name]; ok {
			next.Acted[p.Name] = at
		}
		to, reason := d.Desired, ""
		switch {
		case place.Desired == 0:
		case p.Kind == TargetBased:
			to, reason, next.Needed = steer(p, place, s, d.Desired, m.Needed)
		default:
			to, reason, next.Streaks[p.Name] = p.judge(now, s, d.Desired, m)
		}
		if to = place.hold(to); reason == "" || to == d.Desired {
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

// steer moves towards a target: up at once, down to what was needed at most in
// the whole window, and a margin.
func steer(p *Policy, place Place, s Sample, desired int, before []int) (to int, why string, needed []int) {
	if s.PerInstance <= 0 {
		return desired, "", nil // nothing is known of what an instance can host
	}
	// The limits are applied first, so that what they cut off is no demand that
	// the window remembers.
	need := func(sessions int) int {
		return place.hold(max(1, instancesFor(sessions, s.Useless, p.Target, s.PerInstance)))
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

// instancesFor is how many instances leave a percentage of all game sessions
// available beside those that run; useless processes take room and host nothing.
func instancesFor(sessions, useless int, target float64, perInstance int) int {
	slots := math.Ceil(float64(sessions)/(1-target/100)-1e-9) + float64(useless)
	return int(math.Ceil(slots / float64(perInstance)))
}

// judge evaluates a rule, and says for how many samples its condition holds now.
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

// apply gives the capacity that the rule makes of another. A percentage is
// rounded away from zero, so that it always does something.
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
