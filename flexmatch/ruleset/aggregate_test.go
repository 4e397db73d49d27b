package ruleset

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
)

// aggregate returns the same as the function applied to the lists that a path leads to.
func TestAggregate_IsTheFunctionOnLists(t *testing.T) {
	rs, err := Parse(`{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"},{"name":"likes","type":"string_number_map"}],
"teams":[{"name":"red","minPlayers":1,"maxPlayers":5},{"name":"blue","minPlayers":1,"maxPlayers":5,"quantity":2}],"rules":[]}`)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		path := []string{"teams[*]", "teams[red]", "teams[blue]", "teams[red,blue]"}[r.IntN(4)] + ".players.attributes" + []string{"[skill]", "[likes][x]"}[r.IntN(2)]
		if r.IntN(2) == 0 {
			path = "flatten(" + path + ")"
		}
		text := fmt.Sprintf("%s(%s)", []string{"min", "max", "avg", "median", "sum", "stddev"}[r.IntN(6)], path)
		e, bad := rs.parseExpr(text)
		if bad != nil {
			t.Fatalf("%s: %v", text, bad)
		}
		v := &view{lineup: randomLineup(r, len(rs.Instances)), party: []string{"", "min", "max", "avg"}[r.IntN(4)], once: r.IntN(2) == 0}
		if e.counted() == nil {
			t.Fatalf("%s aggregates no numbers", text)
		}
		if got, want := v.eval(e), e.function.run(v.eval(e.argument), e.argument.typ.depth); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s is %+v, and on lists %+v", text, got, want)
		}
	}
}

// randomLineup puts a few parties into teams. Some teams may stay empty.
func randomLineup(r *rand.Rand, teams int) *Lineup {
	l := &Lineup{Teams: make([][]Member, teams)}
	for range r.IntN(5) {
		p := &Party{Individuals: r.IntN(4) == 0, Players: make([]Player, 1+r.IntN(3))}
		team := r.IntN(teams)
		for i := range p.Players {
			likes := map[string]float64{}
			if r.IntN(2) == 0 {
				likes["x"] = float64(r.IntN(9))
			}
			p.Players[i].Values = []Value{{Number: r.Float64()}, {Map: likes}}
			l.Teams[team] = append(l.Teams[team], Member{Party: p, Index: i})
		}
		l.Parties = append(l.Parties, p)
	}
	return l
}

func TestParty_SetLatencies(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		p := &Party{Individuals: r.IntN(4) == 0}
		most := 1 + r.IntN(20) // more than are compared one after the other, too
		for range 1 + r.IntN(4) {
			latency := map[string]float64{}
			for n := range most {
				if r.IntN(6) > 0 {
					latency[string(rune('a'+n))] = 100 * r.Float64()
				}
			}
			p.Players = append(p.Players, Player{Latency: latency})
		}
		set := &Party{Individuals: p.Individuals, Players: p.Players}
		set.SetLatencies([]string{"avg", "min", "max"}[r.IntN(3)], func(location string) string { return location })
		if _, ok := set.Latencies(); ok == p.Individuals {
			t.Fatalf("latencies are set: %v; individuals: %v", ok, p.Individuals)
		}
		for n := range most + 1 {
			for _, how := range []string{"avg", "min", "max"} {
				location := string(rune('a' + n))
				v, ok := set.PartyLatency(location, how)
				if want, reported := p.PartyLatency(location, how); v != want || ok != reported {
					t.Fatalf("%s of %v at %s is %v, %v; want %v, %v", how, p.Players, location, v, ok, want, reported)
				}
			}
		}
	}
}
