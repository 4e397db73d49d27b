//go:build unix

package pool_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/pool"
)

// BenchmarkPool measures 100,000 waiting tickets: adding them, the first pass, and a pass
// after 2,000 more. Every match is re-checked by the reference.
func BenchmarkPool(b *testing.B) {
	for _, c := range []struct {
		name                 string
		party, window, apart int
	}{{"solos", 1, 50, 10}, {"parties3", 3, 50, 10}, {"parties5", 5, 10, 5}} {
		rs := ruleSet(b, fmt.Sprintf(fiveAgainstFive, c.window, c.apart))
		r := rand.New(rand.NewPCG(1, 2))
		waiting, more := crowd(r, 100_000, 0, c.party), crowd(r, 2_000, 100_000, c.party)
		b.Run(c.name+"/insert", func(b *testing.B) {
			for b.Loop() {
				fill(rs, waiting)
			}
			before := live()
			p := fill(rs, waiting)
			b.ReportMetric(float64(live()-before)/float64(p.Len()), "B/ticket")
		})
		b.Run(c.name+"/cold", func(b *testing.B) {
			var used time.Duration
			for b.Loop() {
				b.StopTimer()
				p := fill(rs, waiting)
				runtime.GC()
				b.StartTimer()
				used -= processor(b)
				matches := p.Pass(second(1))
				used += processor(b)
				b.ReportMetric(float64(len(matches)), "matches")
				b.ReportMetric(float64(p.Cut), "cut")
			}
			busy(b, used)
		})
		b.Run(c.name+"/more", func(b *testing.B) {
			var used time.Duration
			for b.Loop() {
				b.StopTimer()
				p := fill(rs, waiting)
				p.Pass(second(1))
				runtime.GC()
				b.StartTimer()
				used -= processor(b)
				for _, t := range more {
					p.Add(t)
				}
				b.ReportMetric(float64(len(p.Pass(second(2)))), "matches")
				used += processor(b)
			}
			busy(b, used)
		})
	}
}

// live returns the memory in use, in bytes.
func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkPool_Rules measures 20,000 tickets of one player under many windows, each of an
// attribute of its own: adding them, and the first pass.
func BenchmarkPool_Rules(b *testing.B) {
	for _, rules := range []int{1, 10, 50} {
		var attributes, windows []string
		for i := range rules {
			attributes = append(attributes, fmt.Sprintf(`{"name":"a%d","type":"number"}`, i))
			windows = append(windows, fmt.Sprintf(`{"name":"r%d","type":"batchDistance","batchAttribute":"a%d","maxDistance":94}`, i, i))
		}
		rs := ruleSet(b, fmt.Sprintf(`{"ruleLanguageVersion":"1.0","playerAttributes":[%s],
"teams":[{"name":"red","minPlayers":5,"maxPlayers":5},{"name":"blue","minPlayers":5,"maxPlayers":5}],"rules":[%s]}`, strings.Join(attributes, ","), strings.Join(windows, ",")))
		r, waiting := rand.New(rand.NewPCG(1, 2)), make([]*search.Ticket, 20_000)
		for i := range waiting {
			waiting[i] = duelist(fmt.Sprint("k", i), i, 0, "", nil)
			for n := range rules {
				waiting[i].Players[0].Attributes[fmt.Sprint("a", n)] = ruleset.Given{Type: ruleset.Number, Value: ruleset.Value{Number: 100 * r.Float64()}}
			}
		}
		b.Run(fmt.Sprint(rules, "/insert"), func(b *testing.B) {
			for b.Loop() {
				fill(rs, waiting)
			}
		})
		b.Run(fmt.Sprint(rules, "/cold"), func(b *testing.B) {
			var used time.Duration
			for b.Loop() {
				b.StopTimer()
				p := fill(rs, waiting)
				runtime.GC()
				b.StartTimer()
				used -= processor(b)
				b.ReportMetric(float64(len(p.Pass(second(1)))), "matches")
				used += processor(b)
			}
			busy(b, used)
		})
	}
}

// BenchmarkPool_Roles measures 2,000 tickets, half of them tanks and healers in turn who came
// first: all can be matched.
func BenchmarkPool_Roles(b *testing.B) {
	rs, r := ruleSet(b, roles), rand.New(rand.NewPCG(1, 2))
	var waiting []*search.Ticket
	for i := range 2000 {
		role := "damage"
		if i < 1000 {
			role = []string{"tank", "healer"}[i%2]
		}
		waiting = append(waiting, duelist(fmt.Sprint("k", i), i, 1500+150*r.NormFloat64(), role, nil))
	}
	var used time.Duration
	for b.Loop() {
		b.StopTimer()
		p := fill(rs, waiting)
		b.StartTimer()
		used -= processor(b)
		matches := len(p.Pass(second(1)))
		for p.Pending(second(1)) {
			matches += len(p.Pass(second(1)))
		}
		used += processor(b)
		b.ReportMetric(float64(matches), "matches")
		b.ReportMetric(float64(p.Cut), "cut")
	}
	busy(b, used)
}

// BenchmarkPool_Large measures matches of 2 teams of 50 from 20,000 tickets.
func BenchmarkPool_Large(b *testing.B) {
	rs := ruleSet(b, `{"ruleLanguageVersion":"1.0",
"playerAttributes":[{"name":"skill","type":"number"},{"name":"mode","type":"string"}],
"algorithm":{"strategy":"balanced","balancedAttribute":"skill"},
"teams":[{"name":"t","minPlayers":40,"maxPlayers":50,"quantity":2}],
"rules":[{"name":"Mode","type":"batchDistance","batchAttribute":"mode"},{"name":"Near","type":"latency","maxLatency":100}]}`)
	waiting := crowd(rand.New(rand.NewPCG(1, 2)), 20_000, 0, 3)
	for b.Loop() {
		b.StopTimer()
		p := fill(rs, waiting)
		b.StartTimer()
		players, matches := 0, p.Pass(second(1))
		for _, m := range matches {
			players += m.NewPlayers()
		}
		b.ReportMetric(float64(len(matches)), "matches")
		b.ReportMetric(float64(players), "players")
	}
}

// BenchmarkPool_Adversarial measures passes over 100,000 tickets for which no teams are
// valid: each pass is bounded and leaves the rest to the next.
func BenchmarkPool_Adversarial(b *testing.B) {
	body := strings.Replace(fmt.Sprintf(fiveAgainstFive, 50, 10), `"maxDistance":10}]`, `"minDistance":100000}]`, 1)
	rs := ruleSet(b, body)
	p := fill(rs, crowd(rand.New(rand.NewPCG(1, 2)), 100_000, 0, 1))
	for b.Loop() {
		before := p.Searches
		if matches := p.Pass(second(1)); len(matches) > 0 {
			b.Fatalf("%d impossible matches", len(matches))
		}
		b.ReportMetric(float64(p.Searches-before), "searches")
	}
}

func fill(rs *ruleset.RuleSet, tickets []*search.Ticket) *pool.Pool {
	p := pool.New(rs, search.Options{}, pool.Limits{})
	for _, t := range tickets {
		p.Add(t)
	}
	return p
}
