package explain_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/flexmatch/explain"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// A match that an explanation promises must happen: the reference search, played over the
// waiting tickets from step to step, matches the ticket at that moment and not before.
// Without a promise no match may happen.
func TestTicket_PromisesKept(t *testing.T) {
	promised := 0
	for seed := range uint64(300) {
		rs, opts, waiting := world(t, seed)
		now := second(20)
		for _, me := range waiting {
			e := explain.Ticket(rs, opts, me, waiting, now, explain.Limits{})
			at, match := reference(rs, opts, me, waiting, now)
			switch {
			case len(e.Never) > 0 && match != nil:
				t.Fatalf("seed %d: %s can never be matched, but is at %v: %v", seed, me.ID, at, e.Never)
			case (e.Would == nil) != (match == nil):
				t.Fatalf("seed %d: %s would be matched: %+v; the reference: %v", seed, me.ID, e.Would, match)
			case match == nil:
				continue
			}
			promised++
			if !e.Would.At.Equal(at) || e.Would.Level != match.Level || !slices.Equal(ids(match), e.Would.Tickets) {
				t.Fatalf("seed %d: %s would be matched %+v; the reference at %v with %v", seed, me.ID, e.Would, at, ids(match))
			}
			if err := search.Verify(rs, opts, match, e.Would.At); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
	if promised < 100 {
		t.Errorf("only %d promises were made: the worlds are too poor to tell", promised)
	}
}

// A ticket that is said to be allowed later is allowed then, and is not before.
func TestTicket_MissesKept(t *testing.T) {
	seen := 0
	for seed := range uint64(300) {
		rs, opts, waiting := world(t, seed)
		now := second(20)
		for _, me := range waiting {
			for _, m := range explain.Ticket(rs, opts, me, waiting, now, explain.Limits{Ahead: -1}).Misses {
				if m.In == nil {
					continue
				}
				seen++
				two := slices.DeleteFunc(slices.Clone(waiting), func(o *search.Ticket) bool { return o != me && o.ID != m.TicketID })
				for wait, want := range map[time.Duration]int{-time.Millisecond: 0, time.Millisecond: 1} {
					at := now.Add(time.Duration(*m.In)*time.Millisecond + wait)
					if e := explain.Ticket(rs, opts, me, two, at, explain.Limits{Ahead: -1}); e.Compatible != want {
						t.Fatalf("seed %d: %s and %s at %v: %d of 1 could play, want %d; told %+v", seed, me.ID, m.TicketID, at, e.Compatible, want, m)
					}
				}
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d were allowed later: the worlds are too poor to tell", seen)
	}
}

// A group that is reported as a match must be one: then the next pass finds a match
// around the ticket, or uses its tickets for older ones.
func TestTicket_GroupsAreMatches(t *testing.T) {
	seen := 0
	for seed := range uint64(300) {
		rs, opts, waiting := world(t, seed)
		now := second(20)
		for _, me := range waiting {
			e := explain.Ticket(rs, opts, me, waiting, now, explain.Limits{})
			if e.Nearest == nil || !e.Nearest.Match {
				continue
			}
			seen++
			group := slices.DeleteFunc(slices.Clone(waiting), func(o *search.Ticket) bool { return !slices.Contains(e.Nearest.Tickets, o.ID) })
			if matches := search.Pass(rs, opts, group, now); len(matches) == 0 {
				t.Fatalf("seed %d: %v is told to be a match, but the reference forms none of it", seed, e.Nearest.Tickets)
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d groups were matches: the worlds are too poor to tell", seen)
	}
}

// reference plays the definition over the tickets, without bounds.
func reference(rs *ruleset.RuleSet, opts search.Options, me *search.Ticket, waiting []*search.Ticket, now time.Time) (time.Time, *search.Match) {
	moments := []time.Time{now}
	for _, o := range waiting {
		for _, l := range rs.Levels() {
			if at := o.Created.Add(l.From); at.After(now) {
				moments = append(moments, at)
			}
		}
	}
	slices.SortFunc(moments, time.Time.Compare)
	left := slices.Clone(waiting)
	for _, at := range slices.CompactFunc(moments, time.Time.Equal) {
		for _, m := range search.Pass(rs, opts, left, at) {
			if slices.Contains(m.Tickets, me) {
				return at, m
			}
			left = slices.DeleteFunc(left, func(o *search.Ticket) bool { return slices.Contains(m.Tickets, o) })
		}
	}
	return time.Time{}, nil
}

func ids(m *search.Match) []string {
	var out []string
	for _, t := range m.Tickets {
		out = append(out, t.ID)
	}
	return out
}

// world returns a small random rule set with a few tickets of similar values.
func world(t testing.TB, seed uint64) (*ruleset.RuleSet, search.Options, []*search.Ticket) {
	r := rand.New(rand.NewPCG(seed, 11))
	var teams, list, expansions []string
	for i := range 1 + r.IntN(2) {
		low := 1 + r.IntN(2)
		teams = append(teams, fmt.Sprintf(`{"name":"t%d","minPlayers":%d,"maxPlayers":%d}`, i, low, low+r.IntN(2)))
	}
	for i := range 1 + r.IntN(3) {
		template := []string{
			`"type":"batchDistance","batchAttribute":"skill","maxDistance":%d`,
			`"type":"distance","measurements":["avg(teams[*].players.attributes[skill])"],"referenceValue":"avg(flatten(teams[*].players.attributes[skill]))","maxDistance":%d`,
			`"type":"comparison","measurements":["flatten(teams[*].players.attributes[skill])"],"operation":">=","referenceValue":%d`,
			`"type":"comparison","measurements":["flatten(teams[*].players.attributes[mode])"],"operation":"=","description":"%d"`,
			`"type":"latency","maxLatency":%d0`,
		}[r.IntN(5)]
		list = append(list, fmt.Sprintf(`{"name":"r%d",`+template+`}`, i, 1+r.IntN(4)))
		for _, property := range []string{"maxDistance", "maxLatency", "referenceValue"} {
			if strings.Contains(template, `"`+property+`":%d`) && r.IntN(4) > 0 {
				expansions = append(expansions, fmt.Sprintf(`{"target":"rules[r%d].%s","steps":[{"waitTimeSeconds":%d,"value":%d},{"waitTimeSeconds":40,"value":%d}]}`,
					i, property, 10+r.IntN(20), r.IntN(20), r.IntN(60)))
			}
		}
	}
	for i := range max(0, r.IntN(4)-1) {
		role := []string{"tank", "healer"}[i]
		list = append(list, fmt.Sprintf(`{"name":"%s","type":"collection","measurements":["%s"],"operation":"contains","referenceValue":"%s",%s}`, role,
			[]string{"teams[*].players.attributes[role]", "teams[t0].players.attributes[role]", "teams[*].players.attributes[roles]"}[r.IntN(3)], role,
			[]string{`"minCount":1`, `"maxCount":1`, `"minCount":1,"maxCount":1`}[r.IntN(3)]))
		if r.IntN(2) == 0 && strings.Contains(list[len(list)-1], "maxCount") {
			expansions = append(expansions, fmt.Sprintf(`{"target":"rules[%s].maxCount","steps":[{"waitTimeSeconds":%d,"value":2}]}`, role, 10+r.IntN(20)))
		}
	}
	if r.IntN(3) == 0 {
		expansions = append(expansions, `{"target":"teams[t0].minPlayers","steps":[{"waitTimeSeconds":25,"value":0}]}`)
	}
	body := fmt.Sprintf(`{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"},{"name":"mode","type":"string"},
{"name":"role","type":"string"},{"name":"roles","type":"string_list","default":[]}],
"algorithm":{"expansionAgeSelection":%q},"teams":[%s],"rules":[%s],"expansions":[%s]}`,
		[]string{"newest", "oldest"}[r.IntN(2)], strings.Join(teams, ","), strings.Join(list, ","), strings.Join(expansions, ","))
	rs, err := ruleset.Parse(body)
	if err != nil {
		t.Fatalf("seed %d: %s\n%v", seed, body, err)
	}
	return rs, search.Options{AdditionalPlayerCount: max(0, r.IntN(5)-3)}, crowd(r, rs)
}

func crowd(r *rand.Rand, rs *ruleset.RuleSet) []*search.Ticket {
	var out []*search.Ticket
	for i := range 3 + r.IntN(6) {
		t := &search.Ticket{ID: fmt.Sprintf("k%d", i), Created: second(float64(r.IntN(20))), Arrival: uint64(i), Backfill: r.IntN(7) == 0}
		for p := range 1 + max(0, r.IntN(4)-2) {
			player := search.Player{ID: fmt.Sprintf("%s-%d", t.ID, p), Team: rs.Instances[r.IntN(len(rs.Instances))].Name,
				Latency: map[string]float64{"a": float64(1 + r.IntN(50)), "b": float64(1 + r.IntN(50))},
				Attributes: map[string]ruleset.Given{
					"skill": {Type: ruleset.Number, Value: ruleset.Value{Number: float64(r.IntN(9))}},
					"mode":  {Type: ruleset.String, Value: ruleset.Value{String: []string{"x", "y"}[r.IntN(2)]}},
					"role":  {Type: ruleset.String, Value: ruleset.Value{String: []string{"tank", "healer", "damage"}[r.IntN(3)]}},
					"roles": {Type: ruleset.StringSet, Value: ruleset.Value{Strings: [][]string{{"tank"}, {"healer"}, {"tank", "healer"}, {}}[r.IntN(4)]}},
				}}
			if r.IntN(15) == 0 {
				delete(player.Attributes, "mode")
			}
			t.Players = append(t.Players, player)
		}
		out = append(out, t)
	}
	return out
}
