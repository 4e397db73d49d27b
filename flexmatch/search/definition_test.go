package search_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// The reference search prunes what cannot match. Here nothing is pruned: every set of a
// few tickets is tried in all teams and judged by the definition.
func TestPass_IsTheDefinition(t *testing.T) {
	played := 0
	for seed := uint64(0); played < 150; seed++ {
		rs, opts, tickets, _ := world(t, seed)
		if sorts(rs) || len(rs.Instances) > 3 {
			continue
		}
		played++
		tickets = tickets[:min(5, len(tickets))]
		want := plainly{rs, opts, 25}.pass(tickets)
		if got := search.Pass(rs, opts, tickets, second(25)); describe(got) != describe(want) {
			t.Errorf("seed %d: formed\n%s\nby the definition\n%s", seed, describe(got), describe(want))
		}
	}
}

// Rules about sums over teams, which depend on everybody in them, are tried more often.
func TestPass_SumsAreTheDefinition(t *testing.T) {
	formed := 0
	for seed := range uint64(250) {
		rs, tickets := summing(t, seed)
		want := plainly{rs, search.Options{}, 25}.pass(tickets)
		formed += len(want)
		if got := search.Pass(rs, search.Options{}, tickets, second(25)); describe(got) != describe(want) {
			t.Errorf("seed %d: formed\n%s\nby the definition\n%s", seed, describe(got), describe(want))
		}
	}
	if formed < 60 {
		t.Errorf("only %d matches: the rule sets say little", formed)
	}
}

// summing returns a rule set with a rule about sums, and tickets.
func summing(t testing.TB, seed uint64) (*ruleset.RuleSet, []*search.Ticket) {
	r := rand.New(rand.NewPCG(seed, 8))
	red, blue, all := "sum(teams[red].players.attributes[skill])", "sum(teams[blue].players.attributes[skill])", "sum(teams[*].players.attributes[skill])"
	rule := []string{
		fmt.Sprintf(`"type":"comparison","measurements":["%s"],"operation":"=","referenceValue":"%s"`, red, blue),
		fmt.Sprintf(`"type":"comparison","measurements":["%s"],"operation":"<","referenceValue":"%s"`, blue, red),
		fmt.Sprintf(`"type":"comparison","measurements":["%s"],"operation":">=","referenceValue":%d`, all, r.IntN(9)),
		fmt.Sprintf(`"type":"comparison","measurements":["%s"],"operation":"=","referenceValue":"%s","partyAggregation":"max"`, all, red),
		fmt.Sprintf(`"type":"distance","measurements":["%s"],"referenceValue":"sum(flatten(teams[red,blue].players.attributes[skill]))","maxDistance":%d`, all, r.IntN(5)),
		fmt.Sprintf(`"type":"distance","measurements":["%s"],"referenceValue":4.5,"maxDistance":1.5,"partyAggregation":"min"`, red),
	}[r.IntN(6)]
	rs := ruleSet(t, fmt.Sprintf(`{"ruleLanguageVersion":"1.0",
"playerAttributes":[{"name":"skill","type":"number"},{"name":"mode","type":"string","default":"a"},{"name":"modes","type":"string_list","default":[]},{"name":"rank","type":"number","default":2},{"name":"blocked","type":"string_list","default":[]},{"name":"likes","type":"string_number_map","default":{}}],
"teams":[{"name":"red","minPlayers":%d,"maxPlayers":3},{"name":"blue","minPlayers":1,"maxPlayers":2},{"name":"rest","minPlayers":0,"maxPlayers":1}],
"rules":[{"name":"Sum",%s}],
"algorithm":{"strategy":"exhaustiveSearch","expansionAgeSelection":"%s"},
"expansions":[{"target":"rules[Sum].partyAggregation","steps":[{"waitTimeSeconds":10,"value":"avg"}]}]}`, r.IntN(2), rule, []string{"newest", "oldest"}[r.IntN(2)]))
	return rs, randomTickets(r, rs, 5, 0)
}

// Rules about counts in teams end the search for a placement before it is complete.
func TestPass_CountsAreTheDefinition(t *testing.T) {
	formed := 0
	for seed := range uint64(250) {
		rs, opts, tickets := counting(t, seed, 5)
		want := plainly{rs, opts, 25}.pass(tickets)
		formed += len(want)
		if got := search.Pass(rs, opts, tickets, second(25)); describe(got) != describe(want) {
			t.Errorf("seed %d: formed\n%s\nby the definition\n%s", seed, describe(got), describe(want))
		}
	}
	if formed < 60 {
		t.Errorf("only %d matches: the rule sets say little", formed)
	}
}

// counting returns a rule set with rules about counts in teams, and n tickets.
func counting(t testing.TB, seed uint64, n int) (*ruleset.RuleSet, search.Options, []*search.Ticket) {
	r := rand.New(rand.NewPCG(seed, 11))
	var rules, expansions []string
	for i := range 1 + r.IntN(3) {
		counted := []string{
			`"teams[*].players.attributes[mode]"],"referenceValue":"a"`,
			`"teams[red].players.attributes[mode]"],"referenceValue":"b"`,
			`"teams[red,rest].players.attributes[modes]"],"referenceValue":"x"`,
			`"teams[*].players.attributes[modes]"],"partyAggregation":"intersection","referenceValue":"y"`,
		}[r.IntN(4)]
		low := r.IntN(3)
		limit := []string{fmt.Sprintf(`"minCount":%d`, low), fmt.Sprintf(`"maxCount":%d`, low), fmt.Sprintf(`"minCount":%d,"maxCount":%d`, low, low+r.IntN(2))}[r.IntN(3)]
		rules = append(rules, fmt.Sprintf(`{"name":"c%d","type":"collection","operation":"contains","measurements":[%s,%s}`, i, counted, limit))
		if strings.Contains(limit, "maxCount") && r.IntN(3) == 0 {
			expansions = append(expansions, fmt.Sprintf(`{"target":"rules[c%d].maxCount","steps":[{"waitTimeSeconds":%d,"value":%d}]}`, i, 5+r.IntN(15), low+r.IntN(2)))
		}
	}
	rs := ruleSet(t, fmt.Sprintf(`{"ruleLanguageVersion":"1.0",
"playerAttributes":[{"name":"skill","type":"number"},{"name":"mode","type":"string","default":"a"},{"name":"modes","type":"string_list","default":[]},{"name":"rank","type":"number","default":2},{"name":"blocked","type":"string_list","default":[]},{"name":"likes","type":"string_number_map","default":{}}],
"teams":[{"name":"red","minPlayers":%d,"maxPlayers":3},{"name":"blue","minPlayers":1,"maxPlayers":%d},{"name":"rest","minPlayers":0,"maxPlayers":1}],
"rules":[%s],"expansions":[%s],"algorithm":%s}`, r.IntN(2), 1+r.IntN(3), strings.Join(rules, ","), strings.Join(expansions, ","),
		[]string{`{}`, `{"strategy":"balanced","balancedAttribute":"skill"}`}[r.IntN(2)]))
	return rs, search.Options{AdditionalPlayerCount: r.IntN(2)}, randomTickets(r, rs, n, 0)
}

func sorts(rs *ruleset.RuleSet) bool {
	return slices.ContainsFunc(rs.Level(0).Rules, func(r *ruleset.Rule) bool { return r.Traits.Sorts })
}

// plainly forms matches by trying everything.
type plainly struct {
	rs   *ruleset.RuleSet
	opts search.Options
	now  int
}

func (p plainly) pass(tickets []*search.Ticket) []*search.Match {
	priority := map[string]int{ruleset.PriorityHigh: -1, ruleset.PriorityLow: 1}[p.rs.Algorithm.BackfillPriority]
	left := slices.SortedStableFunc(slices.Values(tickets), func(a, b *search.Ticket) int {
		rank := func(t *search.Ticket) int {
			if t.Backfill {
				return priority
			}
			return 0
		}
		return cmp.Or(rank(a)-rank(b), a.Created.Compare(b.Created), cmp.Compare(a.Arrival, b.Arrival))
	})
	if priority <= 0 {
		return p.all(&left, true)
	}
	first := p.all(&left, false)
	return append(first, p.all(&left, true)...)
}

// all forms matches until no ticket is in any.
func (p plainly) all(left *[]*search.Ticket, backfill bool) (out []*search.Match) {
	for i := 0; i < len(*left); i++ {
		if m := p.around(*left, i, backfill); m != nil {
			out = append(out, m)
			*left = slices.DeleteFunc(*left, func(t *search.Ticket) bool { return slices.Contains(m.Tickets, t) })
			i = -1
		}
	}
	return out
}

// around returns the best match with the i-th ticket: the most new players, then the set
// with the earlier of the other tickets.
func (p plainly) around(left []*search.Ticket, i int, backfill bool) *search.Match {
	others := slices.Delete(slices.Clone(left), i, i+1)
	var best *search.Match
	for set := 1<<len(others) - 1; set >= 0; set-- { // the first ticket is the highest bit
		tickets := []*search.Ticket{left[i]}
		for n, o := range others {
			if set>>(len(others)-1-n)&1 == 1 {
				tickets = append(tickets, o)
			}
		}
		if !backfill && slices.ContainsFunc(tickets, func(t *search.Ticket) bool { return t.Backfill }) {
			continue
		}
		m := &search.Match{Tickets: tickets, Teams: make([]int, len(tickets))}
		if (best == nil || m.NewPlayers() > best.NewPlayers()) && p.seat(m, 0) {
			best = m
		}
	}
	return best
}

// seat tries all teams for the n-th ticket and those after it.
func (p plainly) seat(m *search.Match, n int) bool {
	if n == len(m.Tickets) {
		return search.Verify(p.rs, p.opts, m, second(p.now)) == nil
	}
	if m.Tickets[n].Backfill {
		m.Teams[n] = -1
		return p.seat(m, n+1)
	}
	for m.Teams[n] = range p.rs.Instances {
		if p.seat(m, n+1) {
			return true
		}
	}
	return false
}
