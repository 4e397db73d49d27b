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
