//go:build unix

package pool_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// hopeless are tickets of which none can be matched under a rule set of test/crowds.
var hopeless = []struct {
	name, rules string
	draw        func(r *rand.Rand, i int, t *search.Ticket)
}{
	{"no healer, match-roles", "match-roles", noHealer},
	{"no healer, team-roles", "team-roles", noHealer},
	{"no healer, match-roles-skill", "match-roles-skill", noHealer},
	{"no healer, six-two-two-two", "six-two-two-two", noHealer},
	{"skills far apart, near", "near", farApart},
	{"skills far apart, near-steps-oldest", "near-steps-oldest", farApart},
	{"skills far apart, around", "around", farApart},
	{"skills far apart, ranked-oldest", "ranked-oldest", farApart},
	{"parties of three, any", "any", ofThree},
	{"parties of three, near", "near", ofThree},
	{"parties of three, ranked", "ranked", ofThree},
	{"nine in each mode, ranked", "ranked", nine},
}

func noHealer(r *rand.Rand, i int, t *search.Ticket) {
	t.Players = one(r, i, 1500+300*r.NormFloat64(), "damage", "ranked")
}

func farApart(r *rand.Rand, i int, t *search.Ticket) {
	t.Players = one(r, i, 1e9*r.Float64(), "damage", "ranked")
}

func nine(r *rand.Rand, i int, t *search.Ticket) {
	t.Players = one(r, i, 1500, "damage", fmt.Sprint("mode-", i/9))
}

func ofThree(r *rand.Rand, i int, t *search.Ticket) {
	for n := range 3 {
		t.Players = append(t.Players, one(r, 3*i+n, 1500+300*r.NormFloat64(), "damage", "ranked")...)
	}
}

func one(r *rand.Rand, i int, skill float64, role, mode string) []search.Player {
	return []search.Player{{ID: fmt.Sprint("p", i), Attributes: map[string]ruleset.Given{
		"skill": {Type: ruleset.Number, Value: ruleset.Value{Number: skill}}, "role": {Type: ruleset.String, Value: ruleset.Value{String: role}},
		"mode": {Type: ruleset.String, Value: ruleset.Value{String: mode}}},
		Latency: map[string]float64{"eu-central-1": 20 + 20*r.Float64(), "us-east-1": 100 + 20*r.Float64()}}}
}

// BenchmarkPool_Hopeless measures 100,000 waiting tickets of which none can be matched: the first
// passes over them, and those after 2,000 more.
func BenchmarkPool_Hopeless(b *testing.B) {
	for _, h := range hopeless {
		body, err := os.ReadFile("../../../test/crowds/rulesets/" + h.rules + ".json")
		if err != nil {
			b.Fatal(err)
		}
		rs := ruleSet(b, string(body))
		b.Run(h.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			var tickets []*search.Ticket
			for i := range 102_000 {
				t := &search.Ticket{ID: fmt.Sprint("t", i), Created: second(1), Arrival: uint64(i)}
				h.draw(r, i, t)
				tickets = append(tickets, t)
			}
			for b.Loop() {
				before := live()
				p := fill(rs, tickets[:100_000])
				b.ReportMetric(float64(live()-before)/float64(p.Len()), "B/ticket")
				pass := func(unit string) {
					runtime.GC()
					used := -processor(b)
					for p.Pending(second(1)) {
						if n := len(p.Pass(second(1))); n > 0 {
							b.Fatalf("%d impossible matches", n)
						}
					}
					used += processor(b)
					b.ReportMetric(float64(used)/float64(time.Millisecond), "ms/"+unit)
				}
				pass("first")
				for _, t := range tickets[100_000:] {
					p.Add(t)
				}
				pass("more")
			}
		})
	}
}
