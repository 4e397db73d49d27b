package explain_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/musterhq/muster/flexmatch/explain"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// crowded returns tickets that have come evenly over the last minute, with the attributes that a
// rule set of test/crowds declares, as the populations there have them. The skills of players who
// are apart differ by so much that windows keep all of them apart.
func crowded(rs *ruleset.RuleSet, n int, apart bool) []*search.Ticket {
	r := rand.New(rand.NewPCG(1, 2))
	number := func(v float64) ruleset.Given {
		return ruleset.Given{Type: ruleset.Number, Value: ruleset.Value{Number: v}}
	}
	text := func(of ...string) ruleset.Given {
		return ruleset.Given{Type: ruleset.String, Value: ruleset.Value{String: of[r.IntN(len(of))]}}
	}
	largest := 0
	for _, size := range rs.Level(0).Sizes {
		largest = max(largest, size.Max)
	}
	tickets := make([]*search.Ticket, n)
	for i := range tickets {
		id := fmt.Sprint("t", i)
		t := &search.Ticket{ID: id, Arrival: uint64(i), Created: epoch.Add(time.Minute * time.Duration(i) / time.Duration(n))}
		skill, near := 1500+300*r.NormFloat64(), r.IntN(2)
		if apart {
			skill = 1000 * float64(i)
		}
		size := []int{1, 1, 1, 1, 1, 1, 1, 2, 2, 3}[r.IntN(10)]
		for m := range min(size, largest) {
			all := map[string]ruleset.Given{
				"skill": number(skill + 30*r.NormFloat64()), "rank": number(float64(r.IntN(50))), "level": number(float64(r.IntN(60))),
				"role": text("tank", "healer", "damage", "damage", "damage"), "mode": text("ranked", "ranked", "quick"), "input": text("pad", "mouse"),
				"crossplay": text("yes", "yes", "no"), "side": text("crew", "crew", "crew", "hunter"),
				"maps": {Type: ruleset.StringSet, Value: ruleset.Value{Strings: []string{[]string{"harbor", "tower", "bridge"}[r.IntN(3)]}}},
			}
			p := search.Player{ID: fmt.Sprint(id, "-", m), Attributes: map[string]ruleset.Given{}}
			for _, a := range rs.Attributes {
				if v, ok := all[a.Name]; ok && v.Type == a.Type {
					p.Attributes[a.Name] = v
				}
			}
			if rs.HasLatency {
				p.Latency = map[string]float64{fmt.Sprint("region-", near): 30 + 60*r.Float64(), fmt.Sprint("region-", 1-near): 90 + 60*r.Float64()}
			}
			t.Players = append(t.Players, p)
		}
		tickets[i] = t
	}
	return tickets
}

// BenchmarkCrowds measures the processor time of an overview of 100,000 waiting tickets, and of the
// explanation of one of them, for each rule set of test/crowds.
func BenchmarkCrowds(b *testing.B) {
	files, err := filepath.Glob("../../test/crowds/rulesets/*.json")
	if err != nil || len(files) == 0 {
		b.Fatal(files, err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		rs, err := ruleset.Parse(string(body))
		if err != nil {
			b.Fatal(err)
		}
		for crowd, apart := range map[string]bool{"near": false, "apart": true} {
			name := strings.TrimSuffix(filepath.Base(file), ".json") + "/" + crowd
			var waiting []*search.Ticket
			measure := func(what string, f func()) {
				b.Run(name+"/"+what, func(b *testing.B) {
					if waiting == nil {
						waiting = crowded(rs, 100_000, apart)
					}
					b.ReportAllocs()
					before := processor()
					for b.Loop() {
						f()
					}
					b.ReportMetric(float64((processor()-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
				})
			}
			now, limits := second(60), explain.Limits{Clock: time.Now, Time: 50 * time.Millisecond} // as on a server
			measure("overview", func() { explain.Pool(rs, search.Options{}, waiting, now, limits) })
			measure("ticket", func() { explain.Ticket(rs, search.Options{}, waiting[70_000], waiting, now, limits) })
		}
	}
}

// processor returns the processor time that the program has used.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
