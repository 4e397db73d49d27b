package app

import (
	"bufio"
	"context"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/musterhq/muster/app/lab"
	"github.com/musterhq/muster/console"
)

// BenchmarkBesideSimulation measures game sessions that are created at a fixed pace, in turns
// without and with a simulation of the rules lab in the same server. x-p50 and x-p99 are how
// many times as long they take beside it, ms-p99 is how long: medians over pairs of neighboring turns, since
// machines have moods. unpaced is a simulation that does not give way; none is the same without
// any, which shows how much the figures say.
func BenchmarkBesideSimulation(b *testing.B) {
	for _, c := range []struct {
		name  string
		share float64
	}{{"none", -1}, {"paced", 0}, {"unpaced", 1}} {
		b.Run(c.name, func(b *testing.B) {
			const pairs, each, pace = 12, 100, 10 * time.Millisecond
			t := newBench(b)
			t.processes(2*pairs*each + each)
			request := t.signed("CreateGameSession", map[string]any{"FleetId": t.fleet.ID, "Location": benchLocation, "MaximumPlayerSessionCount": 10})
			conn, err := net.Dial("tcp", t.Addr().String())
			t.must(err)
			defer conn.Close()
			in := bufio.NewReader(conn)
			turn := func() (p50, p99 time.Duration) {
				var took []time.Duration
				tick := time.NewTicker(pace)
				defer tick.Stop()
				for range each {
					<-tick.C
					begun := time.Now()
					_, err := conn.Write(request)
					t.must(err)
					t.must(take(in))
					took = append(took, time.Since(begun))
				}
				slices.Sort(took)
				return took[each/2], took[each-2]
			}
			turn() // the first ones make connections and caches
			var middle, tail []float64
			var busy []time.Duration
			b.ResetTimer()
			for range b.N {
				for range pairs {
					p50, p99 := turn()
					end := simulate(t, c.share)
					busy50, busy99 := turn()
					end()
					middle, tail = append(middle, float64(busy50)/float64(p50)), append(tail, float64(busy99)/float64(p99))
					busy = append(busy, busy99)
				}
			}
			slices.Sort(middle)
			slices.Sort(tail)
			slices.Sort(busy)
			b.ReportMetric(middle[len(middle)/2], "x-p50")
			b.ReportMetric(tail[len(tail)/2], "x-p99")
			b.ReportMetric(float64(busy[len(busy)/2].Microseconds())/1000, "ms-p99")
		})
	}
}

// simulate begins a simulation with a share of a processor, 0 for that of the server, -1 for none, which
// runs until the function that it returns is called.
func simulate(t *bench, share float64) (end func()) {
	if share < 0 {
		return func() {}
	}
	l := lab.New(nil)
	if share > 0 {
		l.Share = share
	}
	const rules = `{"ruleLanguageVersion": "1.0", "playerAttributes": [{"name": "skill", "type": "number"}],
		"teams": [{"name": "team", "minPlayers": 5, "maxPlayers": 5, "quantity": 2}],
		"rules": [{"name": "Close", "type": "batchDistance", "batchAttribute": "skill", "maxDistance": 100},
		{"name": "Fair", "type": "distance", "maxDistance": 30, "measurements": ["avg(teams[*].players.attributes[skill])"], "referenceValue": "avg(flatten(teams[*].players.attributes[skill]))"}]}`
	ctx, cancel := context.WithCancel(t.Context())
	begun, ended := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(ended)
		l.Simulate(ctx, &console.Simulation{A: rules, B: rules, Minutes: 60, Runs: 20, Players: []byte(
			`{"populations": [{"tickets_per_minute": 900, "attributes": {"skill": {"number": {"normal": {"mean": 1500, "sd": 400}, "min": 0}}}}]}`,
		)}, func(console.Progress) error {
			select {
			case begun <- struct{}{}:
			default:
			}
			return nil
		})
	}()
	<-begun
	return func() { cancel(); <-ended }
}
