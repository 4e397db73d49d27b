package flexmatch

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/musterhq/muster/flexmatch/explain"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

// However many configurations search all the time, one that searches little waits for one turn of
// another at most, and those many get the same from the processors.
func TestTurns(t *testing.T) {
	for _, others := range []int{1, 3, 12} {
		t.Run(fmt.Sprint(others), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const step = time.Millisecond
				turns := newTurns(2, time.Now)
				var ended atomic.Bool
				var running sync.WaitGroup
				had := make([]atomic.Int64, others) // nanoseconds
				for i := range had {
					running.Go(func() {
						for s := new(share); !ended.Load(); {
							turn, err := turns.take(t.Context(), s, 2)
							if err != nil {
								return
							}
							turn.hurry = passTime / turnTime
							for began := turn.now(); turn.now().Sub(began) < passTime; {
								wait.Pass(step)
							}
							took := turn.end()
							had[i].Add(int64(took) * int64(turn.slots))
							wait.Pass(took) // as a matcher rests
						}
					})
				}
				wait.Settle(2 * time.Second)
				before := make([]int64, others)
				for i := range had {
					before[i] = had[i].Load()
				}
				s := new(share)
				for range 100 {
					asked := time.Now()
					turn, err := turns.take(t.Context(), s, 1)
					if err != nil {
						t.Fatal(err)
					}
					if waited := time.Since(asked); waited > turnTime+step {
						t.Errorf("waited %v for a turn", waited)
					}
					wait.Pass(step)
					turn.end()
					wait.Pass(49 * step)
				}
				synctest.Wait()
				after := make([]time.Duration, others)
				for i := range had {
					after[i] = time.Duration(had[i].Load() - before[i])
				}
				if least, most := slices.Min(after), slices.Max(after); least == 0 || least < most*3/4 {
					t.Errorf("the processors were had for %v: not the same", after)
				}
				ended.Store(true)
				running.Wait()
				if turns.free != 2 {
					t.Errorf("%d slots are free at the end, want 2", turns.free)
				}
			})
		})
	}
}

// hopeless is a rule set under which nobody is matched who comes without attributes.
const hopeless = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"role","type":"string","default":"damage"}],
"teams":[{"name":"t","minPlayers":5,"maxPlayers":5,"quantity":2}],
"rules":[{"name":"Healers","type":"collection","measurements":["teams[*].players.attributes[role]"],"operation":"contains","referenceValue":"healer","minCount":1}]}`

// While a pass over many tickets runs, another configuration's pass comes: the long one ends within a
// turn, and goes on later where it was. That is counted, and the tickets' explanations say it.
func TestMatcher_PassEndsForOthers(t *testing.T) {
	const tick = 100 * time.Microsecond // from one reading of the clock to the next
	var readings atomic.Int64
	var atReading atomic.Pointer[func(int64)]
	clock := func() time.Time {
		n := readings.Add(1)
		if f := atReading.Load(); f != nil {
			(*f)(n)
		}
		return time.Unix(0, n*int64(tick))
	}
	registry := prometheus.NewRegistry()
	o := Options{Registerer: registry}
	o.Limits.Clock = clock
	c := newCell(t, store.NewMemory(), o)
	defer c.Close()
	c.matches.matchers.turns = newTurns(1, clock)
	c.configure("many", hopeless, Configuration{Mode: Standalone})
	c.configure("few", pairs, Configuration{Mode: Standalone})
	const tickets = 2000
	for i := range tickets {
		c.enter("many", fmt.Sprint("m", i), fmt.Sprint("m", i))
	}
	c.enter("few", "a", "ann")
	c.enter("few", "b", "bob")

	many, few := c.matches.matchers.of("many"), c.matches.matchers.of("few")
	few.mu.Lock()
	few.stale = true
	few.mu.Unlock()
	var asked, began int64
	matched := make(chan error, 1)
	come := func(n int64) {
		if n != began+100 {
			return
		}
		go func() {
			_, err := few.cycle(c.Ctx)
			matched <- err
		}()
		for c.matches.matchers.turns.waiters.Load() == 0 {
			runtime.Gosched()
		}
		asked = readings.Load()
	}
	began = readings.Load()
	atReading.Store(&come)
	if _, err := many.cycle(c.Ctx); err != nil {
		t.Fatal(err)
	}
	c.Must(wait.Receive(t, "the pass of few", matched))
	if took := time.Duration(readings.Load()-asked) * tick; asked == 0 || took > turnTime+10*tick {
		t.Errorf("asked at reading %d, and waited for %v of searches", asked, took)
	}
	c.want(Completed, "a", "b")
	if searches := many.pool.Searches; searches == 0 || searches >= tickets {
		t.Errorf("the pass that ended searched around %d tickets", searches)
	}
	e, err := c.matches.Explain(c.Ctx, "m0")
	c.Must(err)
	if b := e.Waiting.Bounds; len(b) != 1 || b[0].Code != explain.PassesEnded || b[0].Cut != 1 || b[0].Of != 1 || !strings.Contains(b[0].Text, "1 of 1 pass ") {
		t.Errorf("explained with %+v", b)
	}
	atReading.Store(nil)
	for many.pool.Pending(time.Now()) {
		_, err := many.cycle(c.Ctx)
		c.Must(err)
	}
	if many.pool.Searches != tickets {
		t.Errorf("%d searches around %d tickets", many.pool.Searches, tickets)
	}
	want := fmt.Sprintf(`# HELP muster_matchmaking_passes_ended_total Passes that took all their time and left tickets to the next pass.
# TYPE muster_matchmaking_passes_ended_total counter
muster_matchmaking_passes_ended_total{configuration_name="few"} 0
muster_matchmaking_passes_ended_total{configuration_name="many"} %d
`, many.pool.Ended)
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "muster_matchmaking_passes_ended_total"); err != nil {
		t.Error(err)
	}
}

// A search that a bound of its own ends is counted, and explanations of a ticket and of all say it;
// after some minutes no more.
func TestMatcher_SearchesAreCut(t *testing.T) {
	inCell(t, func(c *cell) {
		c.configure("mm", costly(0), Configuration{Mode: Standalone, RequestTimeout: time.Hour})
		for i := range 60 {
			c.enter("mm", fmt.Sprint("t", i), fmt.Sprint("p", i))
		}
		wait.Settle(time.Second)
		told := func(want int) {
			t.Helper()
			e, err := c.matches.Explain(c.Ctx, "t0")
			c.Must(err)
			o, err := c.matches.Overview(c.Ctx, "mm")
			c.Must(err)
			for _, of := range [][]explain.Bound{e.Waiting.Bounds, o.Bounds} {
				if len(of) != want || want == 1 && (of[0].Code != explain.SearchesCut || of[0].Cut == 0 || of[0].Of < of[0].Cut || of[0].Over != 300_000) {
					t.Errorf("explained with %+v", of)
				}
			}
		}
		told(1)
		if cut := testutil.ToFloat64(c.matches.matchers.metrics.cut.WithLabelValues("mm")); cut == 0 {
			t.Error("no search is counted as cut")
		}
		wait.Settle(6 * time.Minute)
		told(0)
	})
}
