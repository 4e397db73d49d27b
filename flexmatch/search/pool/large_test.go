package pool_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/pool"
)

const hunters = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number","default":5},{"name":"mode","type":"string","default":"a"}],
"algorithm":{"strategy":"balanced","balancedAttribute":"skill"%s},
"teams":[{"name":"Hunters","minPlayers":12,"maxPlayers":15,"quantity":10},{"name":"Monsters","minPlayers":5,"maxPlayers":5}]%s}`

// With any batching, priority and parties, matches are valid, no ticket is in two, and
// the pool leaves nothing that the reference would match.
func TestLarge_PoolIsSound(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 3))
		batching := []string{"largestPopulation", "fastestRegion"}[seed%2]
		rs := ruleSet(t, fmt.Sprintf(hunters, `,"batchingPreference":"`+batching+`"`,
			`,"rules":[{"name":"Near","type":"latency","maxLatency":120},{"name":"Mode","type":"batchDistance","batchAttribute":"mode"},{"name":"Close","type":"batchDistance","batchAttribute":"skill","maxDistance":900}],
			"expansions":[{"target":"rules[Close].maxDistance","steps":[{"waitTimeSeconds":10,"value":5000}]}]`))
		p := pool.New(rs, search.Options{}, pool.Limits{})
		waiting := map[string]*search.Ticket{}
		for _, ticket := range crowd(r, 2500, 0, 3) {
			ticket.Created = second(r.IntN(20))
			p.Add(ticket)
			waiting[ticket.ID] = ticket
		}
		matches := p.Pass(second(20))
		check(t, seed, rs, search.Options{}, matches, 20)
		for _, m := range matches {
			if m.Rules == nil || len(m.Rules) > 0 { // events would list nil as rules that were never evaluated
				t.Errorf("seed %d: rule counts %#v, want none", seed, m.Rules)
			}
			for _, ticket := range m.Tickets {
				delete(waiting, ticket.ID)
			}
		}
		var rest []*search.Ticket
		for _, ticket := range waiting {
			rest = append(rest, ticket)
		}
		if left := pool.Reference(rs, search.Options{}, rest, second(20)); len(matches) == 0 || len(left) > 0 {
			t.Errorf("seed %d: %d matches, then %d more are found", seed, len(matches), len(left))
		}
	}
}

// Tickets that fit no large match do not starve others, neither in their own part nor in
// another: each pass continues where the last one stopped.
func TestLarge_NobodyStarves(t *testing.T) {
	rs := ruleSet(t, `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"},{"name":"mode","type":"string"}],
		"algorithm":{"strategy":"balanced","balancedAttribute":"skill"},
		"teams":[{"name":"a","minPlayers":41,"maxPlayers":41}],
		"rules":[{"name":"Mode","type":"batchDistance","batchAttribute":"mode"},{"name":"Close","type":"batchDistance","batchAttribute":"skill","maxDistance":10}]}`)
	p := pool.New(rs, search.Options{}, pool.Limits{Work: 100})
	n := 0
	add := func(mode string, skill float64) {
		p.Add(duelist(fmt.Sprintf("k%03d", n), n, skill, mode, nil))
		n++
	}
	for i := range 100 {
		add("ctf", float64(1000+100*i)) // each far from all others
	}
	for range 41 {
		add("ctf", 5)
		add("tdm", 5)
	}
	for i := range 60 {
		add("tdm", float64(1000+100*i))
	}
	formed, passes := 0, 0
	for ; p.Pending(second(1)); passes++ {
		matches := p.Pass(second(1))
		check(t, 0, rs, search.Options{}, matches, 1)
		formed += len(matches)
		if passes > 1000 {
			t.Fatal("the pool does not come to an end")
		}
	}
	if formed != 2 || p.Len() != 160 || passes < 10 {
		t.Errorf("%d matches in %d passes, %d tickets left; want 2 and 160, in many passes", formed, passes, p.Len())
	}
	for range 41 {
		add("ctf", 7)
	}
	for passes = 0; p.Pending(second(2)) && passes < 1000; passes++ {
		formed += len(p.Pass(second(2)))
	}
	if formed != 3 {
		t.Errorf("%d matches after 41 more came; want 3", formed)
	}
}

// With a clock a pass for large matches ends in time, however many tickets wait and however little they
// fit, and the next passes go on where it was until all that can be matched is.
func TestLarge_BoundedTime(t *testing.T) {
	rs := ruleSet(t, `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"},{"name":"mode","type":"string","default":"a"}],
		"algorithm":{"strategy":"balanced","balancedAttribute":"skill"},
		"teams":[{"name":"a","minPlayers":41,"maxPlayers":41}],
		"rules":[{"name":"Mode","type":"batchDistance","batchAttribute":"mode"},{"name":"Close","type":"batchDistance","batchAttribute":"skill","maxDistance":10}]}`)
	var now time.Time
	clock := func() time.Time { now = now.Add(time.Millisecond); return now }
	p := pool.New(rs, search.Options{}, pool.Limits{Clock: clock, Time: 50 * time.Millisecond})
	for i := range 600 {
		mode := []string{"far", "near"}[i%2]
		skill := float64(100 * i) // nobody is near another
		if mode == "near" {
			skill = 1
		}
		p.Add(duelist(fmt.Sprint("t", i), i, skill, mode, nil))
	}
	matches, passes := 0, 0
	for ; p.Pending(second(1)); passes++ {
		began := now
		matches += len(p.Pass(second(1)))
		if took := now.Sub(began); took > 55*time.Millisecond || passes > 50 {
			t.Fatalf("pass %d ends after %v", passes, took)
		}
	}
	if matches != 300/41 || passes < 2 || p.Ended != passes-1 {
		t.Errorf("%d matches in %d passes, of which %d were ended", matches, passes, p.Ended)
	}
}
