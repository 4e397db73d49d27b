package ruleset

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What is certain about the rules of each type agrees with the verdict on each match of small
// teams, whatever its players.
func TestCertain_AgreesWithTheEvaluator(t *testing.T) {
	t.Parallel()
	extra := map[string][]string{
		"comparison": {
			`"measurements":["count(teams[*].players)"],"operation":"="`,
			`"measurements":["count(teams[*].players)"],"operation":"!="`,
			`"measurements":["count(teams[red].players)"],"operation":"OP","referenceValue":"count(teams[blue].players)"`,
			`"measurements":["count(flatten(teams[*].players))"],"operation":"OP","referenceValue":N`,
			`"measurements":["sum(count(teams[*].players))"],"operation":"OP","referenceValue":N`,
			`"measurements":["max(count(teams[red,rest].players))"],"operation":"OP","referenceValue":N`,
			`"measurements":["count(teams[*])","count(teams[red].players.attributes[likes][x])"],"operation":"OP","referenceValue":N`,
			`"measurements":["count(flatten(teams[*].players.attributes[modes]))"],"operation":"OP","referenceValue":N`,
			`"measurements":["avg(teams[red].players.attributes[skill])"],"operation":"OP","referenceValue":"avg(flatten(teams[red].players.attributes[skill]))"`,
			`"measurements":["stddev(teams[red].players.attributes[skill])"],"operation":"OP","referenceValue":-1`,
			`"measurements":["teams[red].players.attributes[mode]"],"operation":"!="`,
		},
		"distance": {
			`"measurements":["max(teams[red].players.attributes[skill])"],"referenceValue":"min(teams[red].players.attributes[skill])","minDistance":N`,
			`"measurements":["count(teams[red].players)"],"referenceValue":"count(teams[blue].players)","maxDistance":N`,
			`"measurements":["count(teams[*].players)"],"referenceValue":"count(teams[rest].players)","minDistance":N`,
			`"measurements":["teams[red].players.attributes[skill]"],"referenceValue":N,"minDistance":0`,
		},
		"collection": {
			`"operation":"contains","measurements":["teams[*].players.attributes[mode]"],"referenceValue":"x","minCount":N`,
			`"operation":"contains","measurements":["flatten(teams[red,blue].players.attributes[modes])"],"referenceValue":"x","maxCount":N`,
			`"operation":"contains","measurements":["set_intersection(teams[*].players.attributes[mode])"],"referenceValue":"x","minCount":N`,
			`"operation":"intersection","measurements":["teams[red].players.attributes[mode]"],"minCount":N`,
			`"operation":"intersection","measurements":["set_intersection(teams[*].players.attributes[mode])"],"minCount":N`,
			`"operation":"reference_intersection_count","measurements":["flatten(teams[*].players.attributes[modes])"],"referenceValue":["x","x","z"],"minCount":N`,
			`"operation":"reference_intersection_count","measurements":["teams[blue].players.attributes[modes]"],"referenceValue":["x","z"],"maxCount":N`,
		},
	}
	verdicts := map[Verdict]int{}
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom([]string{"comparison", "distance", "collection", "latency", "batchDistance", "compound"}).Draw(rt, "type")
		sample := func(name string) string {
			text := rapid.SampledFrom(append(slices.Clone(samples[name]), extra[name]...)).Draw(rt, "rule")
			text = strings.ReplaceAll(text, "OP", rapid.SampledFrom([]string{"<", "<=", "=", "!=", ">", ">="}).Draw(rt, "operation"))
			return fmt.Sprintf(`"type":%q,`, name) + strings.ReplaceAll(text, "N", fmt.Sprint(rapid.IntRange(0, 4).Draw(rt, "number")))
		}
		team := func(name string, least int) string {
			low := rapid.IntRange(least, 2).Draw(rt, "least")
			return fmt.Sprintf(`{"name":%q,"minPlayers":%d,"maxPlayers":%d}`, name, low, max(1, low+rapid.IntRange(0, 1).Draw(rt, "more")))
		}
		rs, err := Parse(fmt.Sprintf(`{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"},{"name":"rank","type":"number"},
{"name":"mode","type":"string"},{"name":"modes","type":"string_list"},{"name":"likes","type":"string_number_map"}],
"teams":[%s,%s,%s],"rules":[{"name":"first",%s},{"name":"last",%s}]}`, team("red", 0), team("blue", 1), team("rest", 0), sample("comparison"), sample(name)))
		if err != nil {
			rt.Skip() // such as limits that exclude each other
		}
		w := &promise{T: rt, rs: rs, level: rs.levels[0], rule: 1}
		verdict, why := w.level.Certain(w.rule)
		verdicts[verdict]++
		if verdict == Open {
			return
		}
		for range 5 {
			w.lineup = w.full()
			if held := w.holds(w.lineup); held != (verdict == Always) {
				rt.Errorf("the verdict is %v, since %s; the rule: %v", verdict, why, held)
			}
		}
	})
	if verdicts[Always] == 0 || verdicts[Never] == 0 || verdicts[Open] == 0 {
		t.Errorf("the samples cover too little: %v", verdicts)
	}
}

// full returns a lineup whose teams have as many players as the level allows.
func (w *promise) full() *Lineup {
	l := &Lineup{Teams: make([][]Member, len(w.rs.Instances))}
	for i, size := range w.level.Sizes {
		for left := rapid.IntRange(size.Min, size.Max).Draw(w.T, "players"); left > 0; {
			p := &Party{}
			for range rapid.IntRange(1, left).Draw(w.T, "party") {
				p.Players = append(p.Players, w.drawPlayer())
				left--
			}
			l.Add(p, i)
		}
	}
	return l
}

// The steps of expansions say what they change.
func TestSteps(t *testing.T) {
	t.Parallel()
	rs, err := Parse(`{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"},{"name":"mode","type":"string"}],
"teams":[{"name":"red","minPlayers":2,"maxPlayers":4,"quantity":2}],
"rules":[{"name":"Near","type":"batchDistance","batchAttribute":"skill","maxDistance":50},{"name":"Mode","type":"batchDistance","batchAttribute":"mode"}],
"expansions":[
 {"target":"rules[Near].maxDistance","steps":[{"waitTimeSeconds":0,"value":60},{"waitTimeSeconds":10,"value":"60"},{"waitTimeSeconds":20,"value":80}]},
 {"target":"rules[Near].maxDistance","steps":[{"waitTimeSeconds":20,"value":90}]},
 {"target":"rules[Mode].maxDistance","steps":[{"waitTimeSeconds":5,"value":3}]},
 {"target":"teams[red].minPlayers","steps":[{"waitTimeSeconds":20,"value":1}]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range rs.Steps {
		got = append(got, fmt.Sprintf("%s %v %d %d %s %v %v %v %v", s.Path, s.From, s.Rule, s.Team, s.Property, s.Was, s.Is, s.Beaten, s.Idle))
	}
	want := []string{
		"expansions[0].steps[0].value 0s 0 -1 maxDistance 50 60 false false",
		"expansions[0].steps[1].value 10s 0 -1 maxDistance 60 60 false true",
		"expansions[0].steps[2].value 20s 0 -1 maxDistance 60 90 true true",
		"expansions[1].steps[0].value 20s 0 -1 maxDistance 60 90 false false",
		"expansions[2].steps[0].value 5s 1 -1 maxDistance <nil> 3 false true",
		"expansions[3].steps[0].value 20s -1 0 minPlayers 2 1 false false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the steps are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if s := rs.Steps[3]; s.At != (Position{6, 77}) {
		t.Errorf("it is at %v", s.At)
	}
}

// The cheaper form of a rule means the same, or follows from it.
func TestCheaper_MeansTheSame(t *testing.T) {
	t.Parallel()
	const x, set = "flatten(teams[*].players.attributes[skill])", "flatten(teams[*].players.attributes[modes])"
	batch := `"type":"batchDistance","batchAttribute":"skill","maxDistance":`
	for _, c := range []struct {
		rule, want string   // and what Cheaper says
		forms      []string // all of which are enforced
		besides    bool
	}{
		{`"type":"distance","measurements":["` + x + `"],"referenceValue":"min(` + x + `)","maxDistance":6`, "a batchDistance on skill with maxDistance 6", []string{batch + "6"}, false},
		{`"type":"distance","measurements":["` + x + `"],"referenceValue":"max(` + x + `)","maxDistance":3,"partyAggregation":"max"`, "a batchDistance on skill with maxDistance 3 and partyAggregation max", []string{batch + `3,"partyAggregation":"max"`}, false},
		{`"type":"distance","measurements":["sum(teams[red].players.attributes[skill])"],"referenceValue":"sum(teams[blue].players.attributes[skill])","maxDistance":12`,
			"avg(teams[red].players.attributes[skill]) near avg(teams[blue].players.attributes[skill]) with maxDistance 6",
			[]string{`"type":"distance","measurements":["avg(teams[red].players.attributes[skill])"],"referenceValue":"avg(teams[blue].players.attributes[skill])","maxDistance":6`}, false},
		{`"type":"distance","measurements":["max(avg(teams[*].players.attributes[skill]))"],"referenceValue":"min(avg(teams[*].players.attributes[skill]))","maxDistance":6`,
			"avg(teams[red].players.attributes[skill]) near avg(teams[blue].players.attributes[skill]) with maxDistance 6",
			[]string{`"type":"distance","measurements":["avg(teams[red].players.attributes[skill])"],"referenceValue":"avg(teams[blue].players.attributes[skill])","maxDistance":6`}, false},
		{`"type":"comparison","measurements":["max(teams[*].players.attributes[skill])"],"operation":"<","referenceValue":12`, "the measurement teams[*].players.attributes[skill] with the same operation and referenceValue",
			[]string{`"type":"comparison","measurements":["teams[*].players.attributes[skill]"],"operation":"<","referenceValue":12`}, false},
		{`"type":"comparison","measurements":["min(` + x + `)"],"operation":">=","referenceValue":6,"partyAggregation":"min"`, "the measurement " + x + " with the same operation and referenceValue",
			[]string{`"type":"comparison","measurements":["` + x + `"],"operation":">=","referenceValue":6,"partyAggregation":"min"`}, false},
		{`"type":"comparison","measurements":["stddev(` + x + `)"],"operation":"<=","referenceValue":3`, "a batchDistance on skill with maxDistance 8.49", []string{batch + "8.49"}, true},
		{`"type":"comparison","measurements":["` + x + `"],"operation":"=","partyAggregation":"max"`, "a batchDistance on skill with maxDistance 0 and partyAggregation max", []string{batch + `0,"partyAggregation":"max"`}, false},
		{`"type":"comparison","measurements":["` + x + `"],"operation":"="`, "a batchDistance on skill with maxDistance 0", []string{batch + "0"}, true},
		{`"type":"collection","operation":"intersection","measurements":["flatten(teams[*].players.attributes[mode])"],"minCount":1`, "a batchDistance on mode", []string{`"type":"batchDistance","batchAttribute":"mode"`}, false},
		{`"type":"collection","operation":"intersection","measurements":["set_intersection(` + set + `)"],"minCount":1,"partyAggregation":"intersection"`, "the measurement " + set,
			[]string{`"type":"collection","operation":"intersection","measurements":["` + set + `"],"minCount":1,"partyAggregation":"intersection"`}, false},
		{`"type":"collection","operation":"reference_intersection_count","measurements":["` + set + `"],"referenceValue":"set_intersection(` + set + `)","minCount":1`, "the operation intersection, without referenceValue",
			[]string{`"type":"collection","operation":"intersection","measurements":["` + set + `"],"minCount":1`}, false},
		{`"type":"collection","operation":"intersection","measurements":["` + set + `"],"minCount":1,"maxCount":2`, "a collection rule with the operation intersection, the measurement " + set + " and minCount 1",
			[]string{`"type":"collection","operation":"intersection","measurements":["` + set + `"],"minCount":1`}, true},
		{`"type":"collection","operation":"contains","measurements":["teams[red].players.attributes[mode]","teams[blue].players.attributes[mode]"],"referenceValue":"x","minCount":1`, "a rule for each of the measurements",
			[]string{`"type":"collection","operation":"contains","measurements":["teams[red].players.attributes[mode]"],"referenceValue":"x","minCount":1`, `"type":"collection","operation":"contains","measurements":["teams[blue].players.attributes[mode]"],"referenceValue":"x","minCount":1`}, false},
	} {
		list := `{"name":"rule",` + c.rule + "}"
		for i, form := range c.forms {
			list += fmt.Sprintf(`,{"name":"form %d",%s}`, i, form)
		}
		rs, err := Parse(`{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"},{"name":"rank","type":"number"},
{"name":"mode","type":"string"},{"name":"modes","type":"string_list"},{"name":"likes","type":"string_number_map"}],
"teams":[{"name":"red","minPlayers":2,"maxPlayers":2},{"name":"blue","minPlayers":2,"maxPlayers":2}],"rules":[` + list + `]}`)
		if err != nil {
			t.Fatal(err)
		}
		said := rs.Cheaper(0, rs.levels[0])
		if got := said.Instead + said.Besides; got != c.want || (said.Besides != "") != c.besides {
			t.Errorf("of %s it says %+v, want %q", c.rule, said, c.want)
		}
		rapid.Check(t, func(rt *rapid.T) {
			w := &promise{T: rt, rs: rs, level: rs.levels[0]}
			w.lineup = w.full()
			all := true
			for i := range c.forms {
				all = all && w.level.Holds(1+i, w.lineup)
			}
			if held := w.holds(w.lineup); held && !all || !c.besides && all && !held {
				rt.Errorf("%s holds: %v; %v: %v", c.rule, held, c.forms, all)
			}
		})
	}
}
