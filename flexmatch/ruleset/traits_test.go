package ruleset

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// samples are rules of each type, with N for a small number. What a type promises is tried
// on all of its samples: a new type needs one for each case of its traits.
var samples = map[string][]string{
	"absoluteSort":  {`"sortAttribute":"skill","sortDirection":"descending"`, `"sortAttribute":"mode","sortDirection":"ascending"`},
	"distanceSort":  {`"sortAttribute":"likes","mapKey":"maxValue","sortDirection":"ascending"`},
	"batchDistance": {`"batchAttribute":"mode"`, `"batchAttribute":"skill","maxDistance":N`, `"batchAttribute":"rank","maxDistance":N,"partyAggregation":"max"`},
	"latency": {`"maxLatency":N`, `"maxLatency":N,"partyAggregation":"min"`, `"maxDistance":N,"distanceReference":"min"`,
		`"maxLatency":9,"maxDistance":N,"distanceReference":"avg","partyAggregation":"max"`, `"maxDistance":3,"distanceReference":"avg"`, `"maxDistance":6,"distanceReference":"avg"`},
	"compound": {`"statement":"and(first,first)"`, `"statement":"or(first,not(first))"`, `"statement":"xor(first,first)"`},
	"comparison": {
		`"measurements":["flatten(teams[*].players.attributes[skill])"],"operation":">=","referenceValue":N`,
		`"measurements":["flatten(teams[*].players.attributes[skill])"],"operation":"!=","referenceValue":N,"partyAggregation":"min"`,
		`"measurements":["flatten(teams[*].players.attributes[mode])"],"operation":"="`,
		`"measurements":["flatten(teams[*].players.attributes[mode])"],"operation":"=","partyAggregation":"min"`,
		`"measurements":["flatten(teams[*].players.attributes[rank])"],"operation":"!=","partyAggregation":"max"`,
		`"measurements":["flatten(teams[*].players[playerId])"],"operation":"!="`,
		`"measurements":["teams[*].players.attributes[mode]"],"operation":"="`,
		`"measurements":["flatten(teams[*].players.attributes[likes][x])"],"operation":"<","referenceValue":N`,
		`"measurements":["count(teams[*].players)"],"operation":"<=","referenceValue":N`,
		`"measurements":["count(teams[red].players)"],"operation":"=","referenceValue":"count(flatten(teams[*].players))"`,
		`"measurements":["stddev(flatten(teams[*].players.attributes[skill]))"],"operation":"<=","referenceValue":7.3`,
		`"measurements":["flatten(teams[*].players.attributes[skill])"],"operation":">=","referenceValue":"avg(flatten(teams[*].players.attributes[rank]))"`,
		`"measurements":["sum(teams[*].players.attributes[skill])"],"operation":"<=","referenceValue":N`,
		`"measurements":["sum(teams[red].players.attributes[skill])"],"operation":"=","referenceValue":"sum(teams[blue].players.attributes[skill])"`,
		`"measurements":["sum(teams[red,blue].players.attributes[skill])"],"operation":">","referenceValue":"sum(flatten(teams[*].players.attributes[skill]))","partyAggregation":"max"`,
	},
	"distance": {
		`"measurements":["flatten(teams[*].players.attributes[skill])"],"referenceValue":4,"maxDistance":N`,
		`"measurements":["flatten(teams[*].players.attributes[skill])","flatten(teams[*].players.attributes[rank])"],"referenceValue":4,"minDistance":1,"maxDistance":N`,
		`"measurements":["max(flatten(teams[*].players.attributes[skill]))"],"referenceValue":"min(flatten(teams[*].players.attributes[skill]))","maxDistance":N`,
		`"measurements":["min(flatten(teams[*].players.attributes[skill]))"],"referenceValue":"max(flatten(teams[*].players.attributes[skill]))","maxDistance":N,"partyAggregation":"max"`,
		`"measurements":["max(flatten(teams[*].players.attributes[likes][x]))"],"referenceValue":"min(flatten(teams[*].players.attributes[likes][x]))","maxDistance":N`,
		`"measurements":["max(flatten(teams[*].players.attributes[skill]))"],"referenceValue":"min(flatten(teams[*].players.attributes[rank]))","maxDistance":N`,
		`"measurements":["max(flatten(teams[*].players.attributes[skill]))"],"referenceValue":"min(flatten(teams[*].players.attributes[skill]))","minDistance":N`,
		`"measurements":["avg(teams[*].players.attributes[skill])"],"referenceValue":"avg(flatten(teams[*].players.attributes[skill]))","maxDistance":N`,
		`"measurements":["avg(teams[red].players.attributes[skill])"],"referenceValue":"avg(teams[blue].players.attributes[skill])","minDistance":N`,
		`"measurements":["teams[*].players.attributes[skill]"],"referenceValue":"median(flatten(teams[*].players.attributes[skill]))","maxDistance":N`,
		`"measurements":["sum(teams[*].players.attributes[skill])"],"referenceValue":"sum(teams[red].players.attributes[skill])","maxDistance":N`,
	},
	"collection": {
		`"operation":"intersection","measurements":["flatten(teams[*].players.attributes[modes])"],"minCount":N`,
		`"operation":"intersection","measurements":["flatten(teams[*].players.attributes[modes])"],"maxCount":N,"partyAggregation":"intersection"`,
		`"operation":"intersection","measurements":["teams[*].players.attributes[modes]"],"minCount":1`,
		`"operation":"contains","measurements":["flatten(teams[*].players.attributes[modes])"],"referenceValue":"x","minCount":N`,
		`"operation":"contains","measurements":["flatten(teams[*].players.attributes[mode])"],"referenceValue":"x","maxCount":N`,
		`"operation":"contains","measurements":["teams[*].players.attributes[mode]"],"referenceValue":"a","minCount":1,"maxCount":N`,
		`"operation":"contains","measurements":["teams[blue].players.attributes[modes]"],"referenceValue":"x","minCount":N`,
		`"operation":"contains","measurements":["teams[*].players.attributes[modes]"],"referenceValue":"y","maxCount":1,"partyAggregation":"intersection"`,
		`"operation":"reference_intersection_count","measurements":["flatten(teams[*].players.attributes[modes])"],"referenceValue":["x","z"],"minCount":N`,
		`"operation":"reference_intersection_count","measurements":["flatten(teams[*].players.attributes[modes])"],"referenceValue":"set_intersection(flatten(teams[*].players.attributes[modes]))","minCount":N`,
		`"operation":"reference_intersection_count","measurements":["flatten(teams[*].players.attributes[modes])"],"referenceValue":"set_intersection(flatten(teams[*].players.attributes[modes]))","maxCount":N`,
		`"operation":"reference_intersection_count","measurements":["flatten(teams[*].players.attributes[modes])"],"referenceValue":"flatten(teams[*].players[playerId])","maxCount":0`,
		`"operation":"reference_intersection_count","measurements":["flatten(teams[*].players.attributes[modes])"],"referenceValue":"flatten(teams[*].players[playerId])","minCount":1`,
	},
}

// What the rules of each type promise to a search agrees with the verdicts of the
// evaluator.
func TestTraits_AgreeWithTheEvaluator(t *testing.T) {
	for name := range ruleTypes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if len(samples[name]) == 0 {
				t.Fatal("there are no samples of the type")
			}
			for _, sample := range samples[name] {
				rapid.Check(t, func(rt *rapid.T) {
					w := &promise{T: rt, rs: drawRules(rt, name, sample), rule: 1}
					w.level = rapid.SampledFrom(w.rs.levels).Draw(rt, "level")
					w.lineup = w.drawLineup()
					w.check(&w.level.Rules[w.rule].Traits)
					w.check(w.rs.Traits(w.rule))
					w.checkNumbers(w.level.Rules[w.rule])
				})
			}
		})
	}
}

// verdictOnly is a type that has nothing but its verdict.
type verdictOnly struct{ plain }

func (verdictOnly) holds(*Level, *Lineup, Notes) bool { return false }

// Such a type promises nothing, and a search takes it to depend on everything.
func TestTraits_ZeroPromisesNothing(t *testing.T) {
	r := &Rule{kind: verdictOnly{}}
	_, measured := r.Measured(&Lineup{})
	_, averages := r.Averages()
	_, counts := r.Counts()
	if got := r.traits(nil); !reflect.DeepEqual(got, Traits{}) || measured || averages || counts || !r.Possible(nil, nil) {
		t.Errorf("promises %+v", got)
	}
	rs := &RuleSet{Attributes: make([]Attribute, 2), traits: []Traits{{}}}
	if got, want := rs.Reads([]int{0}), (Reads{Attributes: []bool{true, true}, IDs: true, Latency: true}); !reflect.DeepEqual(got, want) {
		t.Errorf("reads %+v, want %+v", got, want)
	}
}

// drawRules returns a rule set with a sample of the type as its second rule. The first is
// for compounds to name.
func drawRules(t *rapid.T, name, sample string) *RuleSet {
	number := func() string { return fmt.Sprint(rapid.SampledFrom([]int{1, 2, 3, 6, 9, 12, 18}).Draw(t, "number")) }
	fill := func(name, text string) (string, []string) {
		var properties []string
		for _, p := range ruleTypes[name].expandable() {
			if strings.Contains(text, `"`+p+`":N`) {
				properties = append(properties, p)
			}
		}
		return fmt.Sprintf(`"type":%q,`, name) + strings.ReplaceAll(text, "N", number()), properties
	}
	other := rapid.SampledFrom([]string{"comparison", "distance", "collection", "latency"}).Draw(t, "other type")
	first, changed := fill(other, rapid.SampledFrom(samples[other]).Draw(t, "other rule"))
	last, changedLast := fill(name, sample)
	var expansions []string
	for i, list := range [][]string{changed, changedLast} {
		for _, property := range list {
			expansions = append(expansions, fmt.Sprintf(`{"target":"rules[%s].%s","steps":[{"waitTimeSeconds":5,"value":%s}]}`,
				[]string{"first", "last"}[i], property, number()))
		}
	}
	rs, err := Parse(fmt.Sprintf(`{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"},{"name":"rank","type":"number"},
{"name":"mode","type":"string"},{"name":"modes","type":"string_list"},{"name":"likes","type":"string_number_map"}],
"teams":[{"name":"red","minPlayers":%d,"maxPlayers":9},{"name":"blue","minPlayers":1,"maxPlayers":9},{"name":"rest","minPlayers":0,"maxPlayers":9}],
"rules":[{"name":"first",%s},{"name":"last",%s}],"expansions":[%s]}`, rapid.IntRange(0, 1).Draw(t, "least"), first, last, strings.Join(expansions, ",")))
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

// promise is a rule, one of its levels, and a lineup on which to try its traits.
type promise struct {
	*rapid.T
	rs     *RuleSet
	level  *Level
	rule   int
	lineup *Lineup
}

// drawPlayer returns a player with few different values, so that rules break and are
// repaired, and with numbers of which averages over a party are exact, so that no sum
// depends on its order.
func (w *promise) drawPlayer() Player {
	small := rapid.IntRange(0, 3)
	strings := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"x", "y", "z", "p1"}), rapid.ID)
	p := Player{ID: fmt.Sprint("p", small.Draw(w.T, "id")), Latency: map[string]float64{}, Values: []Value{
		{Number: float64(6 * small.Draw(w.T, "skill"))}, {Number: float64(3 * small.Draw(w.T, "rank"))},
		{String: rapid.SampledFrom([]string{"x", "y"}).Draw(w.T, "mode")}, {Strings: strings.Draw(w.T, "modes")}, {Map: map[string]float64{}}}}
	for _, location := range []string{"a", "b"} {
		if small.Draw(w.T, "reports") > 0 {
			p.Latency[location] = float64(3 + 3*small.Draw(w.T, "latency")) // at least 1 ms, as the API asks
			p.Values[4].Map["x"] = float64(small.Draw(w.T, "like"))
		}
	}
	return p
}

func (w *promise) drawLineup() *Lineup {
	l := &Lineup{}
	for range rapid.IntRange(1, 4).Draw(w.T, "parties") {
		p := &Party{Individuals: rapid.IntRange(0, 4).Draw(w.T, "individuals") == 0}
		for range rapid.IntRange(1, 3).Draw(w.T, "players") {
			p.Players = append(p.Players, w.drawPlayer())
		}
		l.Parties = append(l.Parties, p)
	}
	return w.seat(l.Parties)
}

// seat distributes parties over the teams; individuals may be in several.
func (w *promise) seat(parties []*Party) *Lineup {
	l := &Lineup{Parties: parties, Teams: make([][]Member, len(w.rs.Instances))}
	for _, p := range parties {
		team := rapid.IntRange(0, len(l.Teams)-1).Draw(w.T, "team")
		for i := range p.Players {
			if p.Individuals {
				team = rapid.IntRange(0, len(l.Teams)-1).Draw(w.T, "own team")
			}
			l.Teams[team] = append(l.Teams[team], Member{Party: p, Index: i})
		}
	}
	return l
}

func (w *promise) holds(l *Lineup) bool { return w.level.Holds(w.rule, l) }

// some returns the lineup without the players of some parties.
func (w *promise) some(keep func(*Party) bool) *Lineup {
	l := &Lineup{Teams: make([][]Member, len(w.lineup.Teams))}
	for _, p := range w.lineup.Parties {
		if keep(p) {
			l.Parties = append(l.Parties, p)
		}
	}
	for i, team := range w.lineup.Teams {
		for _, m := range team {
			if keep(m.Party) {
				l.Teams[i] = append(l.Teams[i], m)
			}
		}
	}
	return l
}

// check tries each trait.
func (w *promise) check(t *Traits) {
	held := w.holds(w.lineup)
	if t.Flat && w.holds(w.seat(w.lineup.Parties)) != held {
		w.Error("the rule is flat, and the verdict depends on teams")
	}
	exchanged := &Lineup{Parties: w.lineup.Parties, Teams: rapid.Permutation(w.lineup.Teams).Draw(w.T, "exchanged")}
	if t.Symmetric && w.holds(exchanged) != held {
		w.Error("the rule is symmetric, and the verdict changes when teams are exchanged")
	}
	gone := rapid.SampledFrom(w.lineup.Parties).Draw(w.T, "gone")
	if t.Shrinks && (!t.Flat || held && !w.holds(w.some(func(p *Party) bool { return p != gone })) && len(w.lineup.Parties) > 1) {
		w.Error("the rule shrinks, and players repair it by joining")
	}
	if t.Sorts && !held {
		w.Error("a sort rule rejects")
	}
	if t.Reads != nil && w.holds(w.others(t.Reads)) != held {
		w.Errorf("the rule reads only %+v, and the verdict depends on something else", *t.Reads)
	}
	if w.holds(w.remembered()) != held {
		w.Error("the verdict differs when latencies are set")
	}
	w.checkColumn(t, held)
}

// remembered returns the lineup with the latencies of some parties set, each by an
// aggregation of its own.
func (w *promise) remembered() *Lineup {
	l := &Lineup{Teams: make([][]Member, len(w.lineup.Teams))}
	of := map[*Party]*Party{}
	for _, p := range w.lineup.Parties {
		o := &Party{Individuals: p.Individuals, Players: p.Players}
		if how := rapid.SampledFrom(aggregations[:]).Draw(w.T, "how"); how != "" {
			o.SetLatencies(how, strings.Clone)
		}
		l.Parties, of[p] = append(l.Parties, o), o
	}
	for i, team := range w.lineup.Teams {
		for _, m := range team {
			l.Teams[i] = append(l.Teams[i], Member{Party: of[m.Party], Index: m.Index})
		}
	}
	return l
}

// others returns the lineup with other values in all that is not read.
func (w *promise) others(reads *Reads) *Lineup {
	l := &Lineup{Teams: make([][]Member, len(w.lineup.Teams))}
	of := map[*Party]*Party{}
	for _, p := range w.lineup.Parties {
		o := &Party{Individuals: p.Individuals}
		for _, player := range p.Players {
			drawn := w.drawPlayer()
			for i, read := range reads.Attributes {
				if read {
					drawn.Values[i] = player.Values[i]
				}
			}
			if reads.IDs {
				drawn.ID = player.ID
			}
			if reads.Latency {
				drawn.Latency = player.Latency
			}
			o.Players = append(o.Players, drawn)
		}
		l.Parties, of[p] = append(l.Parties, o), o
	}
	for i, team := range w.lineup.Teams {
		l.Teams[i] = each(team, func(m Member) Member { return Member{Party: of[m.Party], Index: m.Index} })
	}
	return l
}

// checkColumn tries a column. That of all levels may have a wider limit than the level's.
func (w *promise) checkColumn(t *Traits, held bool) {
	exact := t == &w.level.Rules[w.rule].Traits
	switch c := t.Column.(type) {
	case Partition:
		equal := true
		for _, p := range w.lineup.Parties {
			for i := range p.Players {
				equal = equal && p.Players[i].Values[c.Attribute].String == w.lineup.Parties[0].FirstString(c.Attribute)
			}
		}
		if equal != held {
			w.Error("a partition differs")
		}
	case Window:
		low, high := math.Inf(1), math.Inf(-1)
		for _, p := range w.lineup.Parties {
			a, b := p.Span(c.Attribute, c.Party)
			low, high = min(low, a), max(high, b)
		}
		over := high - low - c.Limit
		if math.Abs(over) > 1e-9 && (held && over > 0 || exact && !held && over < 0) {
			w.Errorf("a window differs: %v to %v, limit %v", low, high, c.Limit)
		}
	case PerTicket:
		alone := !slices.ContainsFunc(w.lineup.Parties, func(p *Party) bool {
			return !w.holds(w.some(func(o *Party) bool { return o == p }))
		})
		if alone != held {
			w.Error("the verdict is not that on single tickets")
		}
	case AtLocation:
		var allowed []string
		for _, location := range []string{"a", "b"} {
			if !slices.ContainsFunc(w.lineup.Parties, func(p *Party) bool { return !c.Allows(p, location) }) {
				allowed = append(allowed, location)
			}
		}
		got := w.level.Locations(w.lineup, []int{w.rule})
		if held != (len(got) > 0) || slices.ContainsFunc(got, func(l string) bool { return !slices.Contains(allowed, l) }) || exact && c.Alone && len(allowed) != len(got) {
			w.Errorf("held is %v at %v, and tickets alone are allowed at %v", held, got, allowed)
		}
	}
}

// checkNumbers checks the traits of a rule that concern numbers and the order of candidates.
func (w *promise) checkNumbers(r *Rule) {
	held := w.holds(w.lineup)
	ranges := make([]Range, len(w.rs.Attributes))
	for i := range ranges {
		ranges[i] = Range{math.Inf(1), math.Inf(-1)}
		for _, p := range w.lineup.Parties {
			for n := range p.Players {
				v := p.Players[n].Values[i].Number
				ranges[i] = Range{min(ranges[i].Low, v), max(ranges[i].High, v)}
			}
		}
	}
	full := !slices.ContainsFunc(w.rs.Instances, func(i Instance) bool { return len(w.lineup.Teams[i.Team]) < w.level.Sizes[i.Team].Min })
	if full && held && !r.Possible(w.level, ranges) {
		w.Errorf("the rule holds, which is impossible in %v", ranges)
	}
	if a, ok := r.Averages(); ok {
		if want := w.averagesHold(a); want != held {
			w.Errorf("the averages %+v hold: %v; the rule: %v", a, want, held)
		}
	}
	if c, ok := r.Counts(); ok {
		if want := w.countsHold(&c); want != held {
			w.Errorf("the counts %+v hold: %v; the rule: %v", c, want, held)
		}
	}
	if m, ok := r.Measured(w.lineup); ok && m.Breaks() && held && r.Type != "comparison" {
		w.Errorf("the rule holds, and %+v breaks it", m)
	}
	if r.Traits.Sorts && r.order(w.lineup.Parties[0]) == nil {
		w.Error("a sort rule has no order")
	}
}

// countsHold judges counts of players of teams. A team of nobody passes.
func (w *promise) countsHold(c *Counts) bool {
	return !slices.ContainsFunc(c.Instances, func(team int) bool {
		n, members := 0, w.lineup.Teams[team]
		for _, m := range members {
			if c.Has(m.Party, m.Index) {
				n++
			}
		}
		return len(members) > 0 && !within(float64(n), c.Min, c.Max)
	})
}

// averagesHold judges averages of teams by their definition. An average of nobody passes.
func (w *promise) averagesHold(a Averages) bool {
	average := func(teams []int) (float64, bool) {
		total, n := 0.0, 0
		for _, team := range teams {
			for _, m := range w.lineup.Teams[team] {
				total, n = total+m.player().Values[a.Attribute].Number, n+1
			}
		}
		return total / float64(n), n > 0
	}
	reference, ok := average(a.Reference.Instances)
	sides := each(a.Measured.Instances, func(i int) []int { return []int{i} })
	if a.Measured.Whole {
		sides = [][]int{a.Measured.Instances}
	}
	for _, teams := range sides {
		v, defined := average(teams)
		if ok && defined && !within(math.Abs(v-reference), a.Min, a.Max) {
			return false
		}
	}
	return true
}
