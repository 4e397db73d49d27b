package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/pool"
)

// workload is a rule set and a generator of tickets for it.
type workload struct {
	name, about string
	rules       string
	tickets     int
	ticket      func(r *rand.Rand) search.Player
}

// The rule sets of the workloads: those with which other matchmakers are measured,
// written in the rule language.
const (
	pairs = `{"ruleLanguageVersion":"1.0","teams":[{"name":"a","minPlayers":1,"maxPlayers":1,"quantity":2}]}`

	shooter = `{"ruleLanguageVersion":"1.0",
"playerAttributes":[{"name":"skill","type":"number"},{"name":"region","type":"string"},{"name":"mode","type":"string"}],
"teams":[{"name":"red","minPlayers":6,"maxPlayers":6},{"name":"blue","minPlayers":6,"maxPlayers":6}],
"rules":[{"name":"Region","type":"batchDistance","batchAttribute":"region"},{"name":"Mode","type":"batchDistance","batchAttribute":"mode"},
{"name":"Skill","type":"batchDistance","batchAttribute":"skill","maxDistance":0.01}]}`

	royale = `{"ruleLanguageVersion":"1.0",
"playerAttributes":[{"name":"region","type":"string"},{"name":"skill","type":"number","default":0}],
"algorithm":{"strategy":"balanced","balancedAttribute":"skill"},
"teams":[{"name":"all","minPlayers":100,"maxPlayers":100}],
"rules":[{"name":"Region","type":"batchDistance","batchAttribute":"region"}]}`

	ranked = `{"ruleLanguageVersion":"1.0",
"playerAttributes":[{"name":"skill","type":"number"},{"name":"region","type":"string"}],
"teams":[{"name":"a","minPlayers":%d,"maxPlayers":%d,"quantity":2}],
"rules":[{"name":"Region","type":"batchDistance","batchAttribute":"region"},{"name":"Skill","type":"batchDistance","batchAttribute":"skill","maxDistance":0.1}]}`

	steady = `{"ruleLanguageVersion":"1.0",
"playerAttributes":[{"name":"skill","type":"number"}],
"teams":[{"name":"red","minPlayers":5,"maxPlayers":5},{"name":"blue","minPlayers":5,"maxPlayers":5}],
"rules":[{"name":"Skill","type":"batchDistance","batchAttribute":"skill","maxDistance":50},
{"name":"Near","type":"latency","maxLatency":60},
{"name":"Fair","type":"distance","measurements":["avg(teams[*].players.attributes[skill])"],"referenceValue":"avg(flatten(teams[*].players.attributes[skill]))","maxDistance":10}],
"expansions":[{"target":"rules[Skill].maxDistance","steps":[{"waitTimeSeconds":5,"value":100},{"waitTimeSeconds":15,"value":300}]},
{"target":"rules[Near].maxLatency","steps":[{"waitTimeSeconds":10,"value":150}]},
{"target":"rules[Fair].maxDistance","steps":[{"waitTimeSeconds":10,"value":50}]}]}`
)

func workloads() []workload {
	normal := func(r *rand.Rand) float64 { return max(-3, min(3, r.NormFloat64())) }
	of := func(regions int) func(r *rand.Rand) search.Player {
		return func(r *rand.Rand) search.Player { return player(normal(r), fmt.Sprint("region-", r.IntN(regions)), "") }
	}
	return []workload{
		{"W3", "two teams of one, no rules", pairs, 10_000, func(*rand.Rand) search.Player { return search.Player{} }},
		{"W4", "12 of one region and mode, skills within 0.01", shooter, 20_000, func(r *rand.Rand) search.Player {
			mode := "pl"
			if r.IntN(125) >= 100 {
				mode = "cp"
			}
			return player(normal(r), fmt.Sprint("region-", r.IntN(2)), mode)
		}},
		{"W5", "100 of one of 20 unequal regions", royale, 20_000, func(r *rand.Rand) search.Player {
			return player(0, fmt.Sprint("region-", r.IntN(1+r.IntN(20))), "")
		}},
		{"W6 of 2", "one region, skills within 0.1", fmt.Sprintf(ranked, 1, 1), 1000, of(2)},
		{"W6 of 10", "one region, skills within 0.1", fmt.Sprintf(ranked, 5, 5), 1000, of(2)},
	}
}

func player(skill float64, region, mode string) search.Player {
	text := func(s string) ruleset.Given {
		return ruleset.Given{Type: ruleset.String, Value: ruleset.Value{String: s}}
	}
	return search.Player{Attributes: map[string]ruleset.Given{
		"skill": {Type: ruleset.Number, Value: ruleset.Value{Number: skill}}, "region": text(region), "mode": text(mode),
	}}
}

// match runs the matchmaking workloads in process: it puts tickets into an empty
// pool, then makes passes until nothing is left to do.
func match(s settings) error {
	fmt.Println("| workload | tickets | put in | passes | searched | processor, both | matches | players placed | most possible | mean spread of skill |\n|---|---|---|---|---|---|---|---|---|---|")
	for _, w := range workloads() {
		rs, err := ruleset.Parse(w.rules)
		if err != nil {
			return err
		}
		for range s.rounds {
			w.run(rs)
		}
	}
	return nil
}

func (w workload) run(rs *ruleset.RuleSet) {
	r := rand.New(rand.NewPCG(20261121, 4))
	began := time.Unix(1_700_000_000, 0)
	tickets := make([]*search.Ticket, w.tickets)
	for i := range tickets {
		p := w.ticket(r)
		p.ID = fmt.Sprint("p", i)
		tickets[i] = &search.Ticket{ID: fmt.Sprint("t", i), Created: began, Arrival: uint64(i), Players: []search.Player{p}}
	}
	p := pool.New(rs, search.Options{}, pool.Limits{})
	used, start := processor(), time.Now()
	for _, t := range tickets {
		p.Add(t)
	}
	in := time.Since(start)
	start = time.Now()
	var matches []*search.Match
	passes := 0
	for p.Pending(began) {
		passes++
		matches = append(matches, p.Pass(began)...)
	}
	placed := 0
	for _, m := range matches {
		placed += m.NewPlayers()
	}
	fmt.Printf("| %s: %s | %d | %s | %d | %s | %s | %d | %d | %d | %.4f |\n", w.name, w.about, w.tickets, ms(in), passes,
		ms(time.Since(start)), ms(processor()-used), len(matches), placed, w.possible(rs, tickets), meanSpread(matches))
}

// possible returns the number of players in the largest possible set of matches: in
// each region and mode, in order of skill, adjacent players match if they are close
// enough; otherwise one is left out.
func (w workload) possible(rs *ruleset.RuleSet, tickets []*search.Ticket) int {
	size, reach := rs.Level(0).Capacity(), math.Inf(1)
	for _, r := range rs.Level(0).Rules {
		if window, ok := r.Traits.Column.(ruleset.Window); ok {
			reach = window.Limit
		}
	}
	skills := map[string][]float64{}
	for _, t := range tickets {
		given := t.Players[0].Attributes
		where := given["region"].String + given["mode"].String
		skills[where] = append(skills[where], given["skill"].Number)
	}
	placed := 0
	for _, list := range skills {
		slices.Sort(list)
		for i := 0; i+size <= len(list); {
			if list[i+size-1]-list[i] > reach {
				i++
				continue
			}
			i, placed = i+size, placed+size
		}
	}
	return placed
}

// meanSpread returns the mean distance between the best and the worst player of a
// match.
func meanSpread(matches []*search.Match) float64 {
	total := 0.0
	for _, m := range matches {
		low, high := math.Inf(1), math.Inf(-1)
		for _, t := range m.Tickets {
			v := t.Players[0].Attributes["skill"].Number
			low, high = min(low, v), max(high, v)
		}
		total += high - low
	}
	return total / float64(max(1, len(matches)))
}

// cycle is the time between two passes of the steady workload's matchmaker.
const cycle = 500 * time.Millisecond

// steadily runs W7: 1,000 tickets a second of simulated time, as fast as possible.
func steadily(s settings) error {
	rs, err := ruleset.Parse(steady)
	if err != nil {
		return err
	}
	if s.idleFor == 0 {
		s.idleFor = 10 * time.Minute
	}
	r := rand.New(rand.NewPCG(20261121, 7))
	p := pool.New(rs, search.Options{}, pool.Limits{})
	epoch := time.Unix(1_700_000_000, 0)
	var waits, passes []time.Duration
	n, matches, most := 0, 0, 0
	used, start := processor(), time.Now()
	for now := time.Duration(0); now < s.idleFor; now += cycle {
		for range int(1000 * cycle / time.Second) {
			p.Add(arrival(r, n, epoch.Add(now+time.Duration(r.Int64N(int64(cycle))))))
			n++
		}
		pass := time.Now()
		for _, m := range p.Pass(epoch.Add(now + cycle)) {
			matches++
			for _, t := range m.Tickets {
				waits = append(waits, now+cycle-t.Created.Sub(epoch))
			}
		}
		passes, most = append(passes, time.Since(pass)), max(most, p.Len())
	}
	slices.Sort(waits)
	slices.Sort(passes)
	at := func(list []time.Duration, q float64) time.Duration {
		return list[int(q*float64(len(list)-1))].Round(10 * time.Microsecond)
	}
	fmt.Printf("W7: %d tickets in %v of matchmaking took %v, %v of processor time: %.1f %% of one processor\n", n, s.idleFor,
		time.Since(start).Round(time.Millisecond), (processor() - used).Round(time.Millisecond), 100*float64(processor()-used)/float64(s.idleFor))
	fmt.Printf("%d matches; %d tickets left, at most %d waiting; wait p50 %v, p99 %v; a pass p50 %v, p99 %v, longest %v; %d searches, %d cut\n", matches,
		p.Len(), most, at(waits, 0.5), at(waits, 0.99), at(passes, 0.5), at(passes, 0.99), at(passes, 1), p.Searches, p.Cut)
	return nil
}

// arrival returns a party of 1 to 3 players of similar skill, near one or two of five
// locations.
func arrival(r *rand.Rand, n int, created time.Time) *search.Ticket {
	t := &search.Ticket{ID: fmt.Sprint("t", n), Created: created, Arrival: uint64(n)}
	near, skill := r.IntN(5), 1500+300*r.NormFloat64()
	for i := range 1 + max(0, r.IntN(6)-3) {
		p := player(skill+20*r.NormFloat64(), "", "")
		p.ID = fmt.Sprint(t.ID, "-", i)
		p.Latency = map[string]float64{fmt.Sprint("l", near): float64(15 + r.IntN(60)), fmt.Sprint("l", (near+1)%5): float64(40 + r.IntN(60))}
		t.Players = append(t.Players, p)
	}
	return t
}
