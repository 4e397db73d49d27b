package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/pool"
)

// fives matches five against five: one mode, skills within 10, a location within 100 ms of
// everybody, and even teams.
const fives = `{"ruleLanguageVersion":"1.0",
"playerAttributes":[{"name":"skill","type":"number"},{"name":"mode","type":"string"}],
"teams":[{"name":"red","minPlayers":5,"maxPlayers":5},{"name":"blue","minPlayers":5,"maxPlayers":5}],
"rules":[{"name":"Mode","type":"batchDistance","batchAttribute":"mode"},
{"name":"Skill","type":"batchDistance","batchAttribute":"skill","maxDistance":10},
{"name":"Near","type":"latency","maxLatency":100},
{"name":"Fair","type":"distance","measurements":["avg(teams[*].players.attributes[skill])"],"referenceValue":"avg(flatten(teams[*].players.attributes[skill]))","maxDistance":5}]}`

// pools measures what putting tickets into a pool costs, and the passes over them: -n
// parties of 1 to 5, then 20,000 single players under 1, 10 and 50 rules.
func pools(s settings) error {
	fmt.Println("| workload | tickets | µs a ticket: put in | searched | processor, both | passed: put in | searched | matches |\n|---|---|---|---|---|---|---|---|")
	r := rand.New(rand.NewPCG(1, 2))
	tickets := make([]*search.Ticket, s.n)
	for i := range tickets {
		tickets[i] = party(r, i)
	}
	if err := s.fill("parties of 1 to 5", fives, tickets); err != nil {
		return err
	}
	for _, rules := range []int{1, 10, 50} {
		for i := range tickets[:min(s.n, 20_000)] {
			given := make(map[string]ruleset.Given, rules)
			for n := range rules {
				given[fmt.Sprint("a", n)] = ruleset.Given{Type: ruleset.Number, Value: ruleset.Value{Number: 100 * r.Float64()}}
			}
			id := fmt.Sprint("t", i)
			tickets[i] = &search.Ticket{ID: id, Created: time.Unix(1, 0), Arrival: uint64(i), Players: []search.Player{{ID: id, Attributes: given}}}
		}
		if err := s.fill(fmt.Sprint(rules, " rules"), windows(rules), tickets[:min(s.n, 20_000)]); err != nil {
			return err
		}
	}
	return nil
}

// windows returns a rule set of five against five with that many windows, each of its own
// attribute.
func windows(n int) string {
	var attributes, rules []string
	for i := range n {
		attributes = append(attributes, fmt.Sprintf(`{"name":"a%d","type":"number"}`, i))
		rules = append(rules, fmt.Sprintf(`{"name":"r%d","type":"batchDistance","batchAttribute":"a%d","maxDistance":94}`, i, i))
	}
	return fmt.Sprintf(`{"ruleLanguageVersion":"1.0","playerAttributes":[%s],
"teams":[{"name":"red","minPlayers":5,"maxPlayers":5},{"name":"blue","minPlayers":5,"maxPlayers":5}],"rules":[%s]}`, strings.Join(attributes, ","), strings.Join(rules, ","))
}

// party returns a ticket of 1 to 5 players of similar skill, near two of eight locations.
func party(r *rand.Rand, n int) *search.Ticket {
	t := &search.Ticket{ID: fmt.Sprint("t", n), Created: time.Unix(1, 0), Arrival: uint64(n)}
	near, skill, mode := r.IntN(8), 1500+400*r.NormFloat64(), fmt.Sprint("mode-", r.IntN(4))
	for i := range 1 + r.IntN(5) {
		p := player(skill+20*r.NormFloat64(), "", mode)
		p.ID = fmt.Sprint(t.ID, "-", i)
		p.Latency = map[string]float64{fmt.Sprint("l", near): float64(10 + r.IntN(80)), fmt.Sprint("l", (near+1)%8): float64(60 + r.IntN(80))}
		t.Players = append(t.Players, p)
	}
	return t
}

// fill puts tickets into an empty pool, then makes passes until nothing is left to do.
func (s settings) fill(name, rules string, tickets []*search.Ticket) error {
	rs, err := ruleset.Parse(rules)
	if err != nil {
		return err
	}
	for range s.rounds {
		p := pool.New(rs, search.Options{}, pool.Limits{})
		runtime.GC()
		used, start := processor(), time.Now()
		for _, t := range tickets {
			p.Add(t)
		}
		in, inUsed := time.Since(start), processor()-used
		runtime.GC()
		used, start = processor(), time.Now()
		var matches []string
		for p.Pending(time.Unix(1, 0)) {
			matches = append(matches, fmt.Sprint(len(p.Pass(time.Unix(1, 0)))))
		}
		passed, passUsed := time.Since(start), processor()-used
		each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(len(tickets)) }
		fmt.Printf("| %s | %d | %.1f | %.1f | %s | %s | %s | %s |\n", name, len(tickets), each(inUsed), each(passUsed), ms(inUsed+passUsed), ms(in), ms(passed), strings.Join(matches, " + "))
	}
	return nil
}
