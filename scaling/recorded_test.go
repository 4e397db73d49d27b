package scaling_test

import (
	"testing"
	"time"

	"github.com/musterhq/muster/fleet"
)

// recorded is the daily peak of concurrent players of a shooter on Steam (Insurgency)
// from 23 November 2014, as Steam publishes it: weekly cycles, sales that double it
// within a day, and a slow decline.
var recorded = []int{
	7193, 5720, 5732, 5592, 5061, 5521, 5145, 5506, 4064, 4011, 3603, 3500, 4074, 4397, 4311, 3462, 3627, 3171, 3072, 3533,
	4872, 5220, 4384, 4245, 4092, 3979, 4434, 6245, 6581, 6119, 5597, 4644, 4548, 4978, 5082, 4965, 4655, 4669, 4014, 4622,
	4586, 4399, 4398, 3617, 3317, 3368, 3362, 4033, 4312, 4297, 3192, 3176, 3123, 3071, 3423, 3765, 3935, 3588, 4691, 7599,
	8580, 8814, 8478, 7809, 6312, 5622, 4811, 4735, 5111, 5292, 5420, 4326, 3667, 3428, 3361, 3723, 4096, 4143, 3204, 3102,
	3027, 3197, 3622, 3747, 4067, 3946, 3386, 3096, 3068, 3524, 4071, 4497, 3419, 3150, 3088, 3127, 3627, 4175, 4158, 3104,
	3008, 2999, 3103, 3362, 3792, 3872, 2943, 2802, 2683, 2624, 3000, 3282, 3307, 2696, 2484, 2521, 2595, 2861, 3104, 3355,
	2759, 2656, 2576, 2948, 3522, 4015, 4379, 3635, 3814, 3795, 4010, 4035, 3422, 3946, 3413, 3034, 3094, 2798, 3047, 3337,
}

const (
	aDay    = 30 * time.Minute // duration of a recorded day in the test
	players = 130              // players per game session
)

// sessionsAt returns how many game sessions the record needs.
func sessionsAt(at time.Duration) int {
	day, part := int(at/aDay), float64(at%aDay)/float64(aDay)
	if day+1 >= len(recorded) {
		return recorded[len(recorded)-1] / players
	}
	return int(float64(recorded[day])*(1-part)+float64(recorded[day+1])*part) / players
}

// swings returns how often the record changes direction by more than a tenth, the margin
// of scaling in.
func swings() int {
	turns, dir, high, low := 0, 0, recorded[0], recorded[0]
	for _, n := range recorded {
		switch {
		case dir >= 0 && float64(n) < 0.9*float64(high):
			turns, dir, low = turns+1, -1, n
		case dir <= 0 && float64(n) > 1.1*float64(low):
			turns, dir, high = turns+1, 1, n
		}
		high, low = max(high, n), min(low, n)
	}
	return turns
}

// Months of a real game are played with each day in half an hour. Almost no request is
// refused, the fleet changes direction no more often than the load, and ends at the size
// it needs.
func TestScaling_FollowsARecord(t *testing.T) {
	in(t, 20, func(c *cell) {
		c.limit(fleet.CapacityInput{Min: number(1), Max: number(60), Desired: number(needed(sessionsAt(0), 25))})
		c.target(25)
		l := &load{cell: c}
		l.follow(10*time.Minute, func(time.Duration) int { return sessionsAt(0) })
		l.turns, l.dir, l.refused = 0, 0, 0
		months := time.Duration(len(recorded)) * aDay
		l.follow(months, sessionsAt)
		if most := swings(); l.turns > most {
			t.Errorf("scaling turned %d times, the players %d times", l.turns, most)
		}
		if l.refused > 0 {
			t.Errorf("%d requests found no process", l.refused)
		}
		l.follow(time.Hour, func(time.Duration) int { return sessionsAt(months) })
		last := sessionsAt(months)
		if got := c.capacity().Desired; got < needed(last, 25) || got > kept(last, 25) {
			t.Errorf("%d instances for %d game sessions, want %d to %d", got, last, needed(last, 25), kept(last, 25))
		}
	})
}
