package flexmatch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

// costly returns a rule set of roles under which teams are found and refused in every search. For so
// many seconds every ticket is searched around again each second.
func costly(seconds int) string {
	var steps []string
	for i := 1; i <= seconds; i++ {
		steps = append(steps, fmt.Sprintf(`{"target":"rules[Never].referenceValue","steps":[{"waitTimeSeconds":%d,"value":%d}]}`, i, i-20))
	}
	return fmt.Sprintf(`{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"role","type":"string","default":"healer"},{"name":"skill","type":"number","default":7}],
"teams":[{"name":"t","minPlayers":5,"maxPlayers":5,"quantity":2}],
"rules":[{"name":"Healers","type":"collection","measurements":["teams[*].players.attributes[role]"],"operation":"contains","referenceValue":"healer","minCount":1},
{"name":"Never","type":"comparison","measurements":["avg(teams[*].players.attributes[skill])"],"operation":"<","referenceValue":-20}],
"expansions":[%s]}`, strings.Join(steps, ","))
}

// BenchmarkShared measures how long tickets wait of which 100 a second come and two make a match,
// beside other configurations that have 10,000 tickets in all which cannot be matched and whose search
// is as expensive as its bounds allow. An iteration takes 10 s, and what those tickets take to come.
func BenchmarkShared(b *testing.B) {
	for _, others := range []int{0, 1, 8} {
		b.Run(fmt.Sprint("beside ", others), func(b *testing.B) {
			var waits []time.Duration
			for b.Loop() {
				waits = append(waits, beside(b, others)...)
			}
			slices.Sort(waits)
			for name, share := range map[string]float64{"p50": .5, "p90": .9, "p99": .99, "max": 1} {
				b.ReportMetric(float64(waits[int(share*float64(len(waits)-1))].Microseconds())/1000, name+"-ms")
			}
			b.ReportMetric(float64(len(waits))/float64(b.N), "matched")
		})
	}
}

func beside(b *testing.B, others int) (waits []time.Duration) {
	c := newCell(b, store.NewMemory(), Options{})
	c.configure("light", pairs, Configuration{Mode: Standalone})
	for i := range others {
		name := fmt.Sprint("costly-", i)
		c.configure(name, costly(120), Configuration{Mode: Standalone, RequestTimeout: time.Hour})
		for n := range 10_000 / others {
			id := fmt.Sprint(name, "-", n)
			c.enter(name, id, id)
		}
	}
	ctx, stop := context.WithCancel(c.Ctx)
	done := make(chan struct{})
	go func() { c.matches.Run(ctx); close(done) }()
	wait.For(b, "all to be searched for", func() error {
		for t := range c.matches.t.tickets.All(c.Store.View()) {
			if t.Status == life.Queued {
				return fmt.Errorf("%s is %s", t.ID, t.Status)
			}
		}
		return nil
	})
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for n := range 1000 {
		<-tick.C
		id := fmt.Sprint("light-", n)
		c.enter("light", id, id)
	}
	stop()
	<-done
	for t := range c.matches.t.tickets.All(c.Store.View()) {
		if t.Configuration == "light" && t.Status == Completed {
			waits = append(waits, t.Ended.Sub(t.Started))
		}
	}
	c.Close()
	return waits
}
