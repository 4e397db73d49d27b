package scaling_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/scaling"
)

// load plays a curve: it keeps as many game sessions as the curve requires, and ends the
// oldest first. It checks the invariants at every step, and counts changes of the
// direction of scaling.
type load struct {
	*cell
	live    []string
	refused int // requests that found no process
	turns   int
	dir     int
	last    int
}

const step = 15 * time.Second

func (l *load) follow(d time.Duration, curve func(at time.Duration) int) {
	l.Helper()
	for at := time.Duration(0); at < d; at += step {
		want := curve(at)
		for len(l.live) > want {
			l.over(l.live[0])
			l.live = l.live[1:]
		}
		for len(l.live) < want {
			id, ok := l.play()
			if !ok {
				l.refused++
				break
			}
			l.live = append(l.live, id)
		}
		wait.Settle(step)
		l.look()
	}
}

func (l *load) look() {
	l.Helper()
	c := l.capacity()
	if c.Desired < c.Min || c.Desired > c.Max {
		l.Fatalf("%d instances are wished for, outside %d to %d", c.Desired, c.Min, c.Max)
	}
	for _, id := range l.live {
		if s := l.Sessions.Live(l.Store.View(), id); s == nil || s.Status.Ended() {
			l.Fatalf("the protected game session %s was ended", id)
		}
	}
	if d := c.Desired - l.last; l.last != 0 && d != 0 {
		dir := 1
		if d < 0 {
			dir = -1
		}
		if l.dir != 0 && dir != l.dir {
			l.turns++
		}
		l.dir = dir
	}
	l.last = c.Desired
}

// target puts a TargetBased policy with a percentage of available game sessions.
func (c *cell) target(percent float64) {
	c.Helper()
	_, err := c.scaling.Put.Do(c.Ctx, scaling.Input{
		FleetID: c.fleet.ID, Name: "target", Metric: "PercentAvailableGameSessions", Kind: scaling.TargetBased, Target: &percent,
	})
	c.Must(err)
}

func number(n int) *int { return &n }

// needed returns the least number of instances that leaves a percentage available.
func needed(sessions int, percent float64) int {
	return int(math.Ceil(math.Ceil(float64(sessions)/(1-percent/100)-1e-9) / perInstance))
}

// kept returns how many instances stay when scaling in: room for a tenth more game
// sessions.
func kept(sessions int, percent float64) int {
	return needed(sessions+int(math.Ceil(float64(sessions)/10)), percent)
}

// With any load, limits hold and no protected game session is ended. Once the load is
// constant, the fleet reaches the size that it needs and stays there.
func TestScaling_Property(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 77))
			in(t, 6, func(c *cell) {
				low, high := 1+r.IntN(3), 6+r.IntN(15)
				percent := float64(r.IntN(60))
				c.limit(fleet.CapacityInput{Min: number(low), Max: number(high), Desired: number(low)})
				c.target(percent)
				l := &load{cell: c}
				for range 8 {
					want := r.IntN(40)
					l.follow(time.Duration(1+r.IntN(30))*time.Minute, func(time.Duration) int { return want })
				}
				steady := r.IntN(20)
				l.follow(30*time.Minute, func(time.Duration) int { return steady })
				hold := func(n int) int { return max(low, min(high, max(1, n))) }
				least, most := hold(needed(steady, percent)), hold(kept(steady, percent))
				came := c.capacity().Desired
				if came < least || came > most {
					t.Errorf("%d instances for %d game sessions with %g%% available, want %d to %d", came, steady, percent, least, most)
				}
				l.turns, l.dir = 0, 0
				l.follow(time.Hour, func(time.Duration) int { return steady })
				if got := c.capacity().Desired; got != came || l.turns > 0 {
					t.Errorf("%d instances after an hour in which nothing changed, want %d", got, came)
				}
			})
		})
	}
}

// A location that scales to and from zero scales to zero when nobody plays, and wakes for
// a request.
func TestScaling_ToAndFromZero(t *testing.T) {
	in(t, 1, func(c *cell) {
		yes, after := true, 10*time.Minute
		c.limit(fleet.CapacityInput{FromZero: &yes, IdleAfter: &after, Max: number(3)})
		if got := c.capacity(); got.Min != 1 || got.Desired != 1 {
			t.Errorf("awake it has %+v", got)
		}
		wait.Settle(8 * time.Minute)
		id, ok := c.play()
		if !ok {
			t.Fatal("no process while it is awake")
		}
		wait.Settle(time.Hour)
		if got := c.capacity(); got.Desired != 1 {
			t.Errorf("it rests under a game session: %+v", got)
		}
		c.over(id)
		wait.Settle(9 * time.Minute)
		if got := c.capacity(); got.Desired != 1 {
			t.Errorf("it rests before its time: %+v", got)
		}
		wait.Settle(3 * time.Minute)
		if got := c.capacity(); got.Desired != 0 || got.Min != 0 {
			t.Fatalf("it does not rest: %+v", got)
		}
		if _, ok := c.play(); ok {
			t.Fatal("a game session without an instance")
		}
		if got := c.capacity(); got.Desired != 1 || got.Min != 1 {
			t.Fatalf("CreateGameSession did not wake it: %+v", got)
		}
		wait.Settle(boot + time.Second)
		if _, ok := c.play(); !ok {
			t.Error("no process after it woke")
		}
	})
}

// A placement wakes the location too, and waits in its queue until then.
func TestScaling_PlacementWakes(t *testing.T) {
	in(t, 1, func(c *cell) {
		yes := true
		c.limit(fleet.CapacityInput{FromZero: &yes, Desired: number(0)})
		wait.Settle(time.Minute)
		_, err := c.places.Queues.Create.Do(c.Ctx, placement.QueueInput{Queue: placement.Queue{
			Name: "q", Timeout: 10 * time.Minute, Destinations: []string{c.Fleets.Home().Of("fleet", c.fleet.ID)},
		}})
		c.Must(err)
		_, err = c.places.Start(c.Ctx, placement.StartInput{Queue: "q", Request: placement.Request{ID: "first", MaxPlayers: 2}})
		c.Must(err)
		wait.Settle(boot + 2*time.Second)
		p, _, err := c.places.Get(c.Ctx, "first")
		c.Must(err)
		if p.Status != placement.Fulfilled {
			t.Errorf("the placement is %s, capacity %+v", p.Status, c.capacity())
		}
	})
}

// Game sessions of a few seconds that come in waves, and are over when the minute is, scale a fleet
// out as those that last.
func TestScaling_SeesTheWholeMinute(t *testing.T) {
	in(t, 4, func(c *cell) {
		c.limit(fleet.CapacityInput{Min: number(1), Max: number(10), Desired: number(1)})
		c.target(50)
		for range 3 {
			var live []string
			wait.Settle(20 * time.Second)
			for range perInstance {
				if id, ok := c.play(); ok {
					live = append(live, id)
				}
			}
			wait.Settle(12 * time.Second)
			for _, id := range live {
				c.over(id)
			}
			wait.Settle(28 * time.Second)
		}
		if got := c.capacity().Desired; got != 2 {
			t.Errorf("%d instances for waves of %d game sessions, of which half are to be available", got, perInstance)
		}
	})
}

// Requests that find no process are demand as well; the same one again and again is not more than
// the fleet has processes.
func TestScaling_CountsRefusals(t *testing.T) {
	in(t, 4, func(c *cell) {
		c.limit(fleet.CapacityInput{Min: number(1), Max: number(10), Desired: number(1)})
		c.target(0)
		for range perInstance {
			if _, ok := c.play(); !ok {
				t.Fatal("there is no process")
			}
		}
		wait.Settle(2 * time.Minute)
		if got := c.capacity().Desired; got != 1 {
			t.Fatalf("%d instances, although no request was refused", got)
		}
		for range 100 {
			c.play()
		}
		wait.Settle(time.Minute)
		if got := c.capacity().Desired; got != 2 {
			t.Errorf("%d instances after a hundred refusals of one with %d processes", got, perInstance)
		}
	})
}
