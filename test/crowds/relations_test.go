package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/sim"
)

var rate = flag.Int("rate", 600, "tickets a minute of the drawn runs")

// drawn is a rule set as it is drawn and rewritten.
type drawn struct {
	teams      []map[string]any
	rules      []map[string]any
	expansions []map[string]any
	oldest     bool
}

const players = "teams[*].players.attributes"

// draw draws a rule set of the kinds that games have.
func draw(t *rapid.T) drawn {
	flip := rapid.Bool()
	size := rapid.IntRange(1, 6).Draw(t, "size")
	d := drawn{oldest: flip.Draw(t, "oldest")}
	for i := range rapid.IntRange(2, min(5, 24/size)).Draw(t, "teams") {
		d.teams = append(d.teams, map[string]any{"name": fmt.Sprint("team", i), "minPlayers": size, "maxPlayers": size})
	}
	if flip.Draw(t, "skill") {
		limit := rapid.IntRange(60, 400).Draw(t, "limit")
		d.rules = append(d.rules, map[string]any{"name": "Skill", "type": "batchDistance", "batchAttribute": "skill", "maxDistance": limit})
		if flip.Draw(t, "steps") {
			d.expansions = append(d.expansions, map[string]any{"target": "rules[Skill].maxDistance", "steps": []any{
				map[string]any{"waitTimeSeconds": 4, "value": 2 * limit}, map[string]any{"waitTimeSeconds": 9, "value": 4 * limit}}})
		}
	}
	if flip.Draw(t, "mode") {
		d.rules = append(d.rules, map[string]any{"name": "Mode", "type": "batchDistance", "batchAttribute": "mode"})
	}
	if flip.Draw(t, "latency") {
		most := rapid.IntRange(50, 150).Draw(t, "ms")
		d.rules = append(d.rules, map[string]any{"name": "Latency", "type": "latency", "maxLatency": most})
		if flip.Draw(t, "latency steps") {
			var steps []any
			for n := range rapid.IntRange(1, 8).Draw(t, "number") {
				steps = append(steps, map[string]any{"waitTimeSeconds": 2*n + 1, "value": most + 15*(n+1)})
			}
			d.expansions = append(d.expansions, map[string]any{"target": "rules[Latency].maxLatency", "steps": steps})
		}
	}
	if flip.Draw(t, "fair") {
		d.rules = append(d.rules, map[string]any{"name": "Fair", "type": "distance", "maxDistance": rapid.IntRange(40, 120).Draw(t, "apart"),
			"measurements": []any{"avg(" + players + "[skill])"}, "referenceValue": "avg(flatten(" + players + "[skill]))"})
	}
	if flip.Draw(t, "roles") {
		d.rules = append(d.rules, drawRoles(t, size, len(d.teams))...)
	}
	return d
}

// drawRoles draws rules about how many players of a team, or of the match, have some roles. Teams of
// players as they come can have them.
func drawRoles(t *rapid.T, size, teams int) (rules []map[string]any) {
	attribute, roles := "role", []string{"tank", "healer"}
	if size > 2 && rapid.Bool().Draw(t, "lanes") {
		attribute, roles = "lane", []string{"top", "jungle", "middle", "bottom", "support"}
	}
	measured, times := players+"["+attribute+"]", 1
	if rapid.Bool().Draw(t, "of the match") {
		measured, times = "flatten("+measured+")", teams
	}
	exact := size >= len(roles) && rapid.Bool().Draw(t, "exact")
	for _, role := range roles[:min(size, rapid.IntRange(1, len(roles)).Draw(t, "roles of them"))] {
		rule := map[string]any{"name": role, "type": "collection", "operation": "contains", "referenceValue": role,
			"measurements": []any{measured}, "minCount": times}
		if exact {
			rule["maxCount"] = times * max(1, size/len(roles))
		}
		rules = append(rules, rule)
	}
	return rules
}

func (d drawn) ruleSet(t *rapid.T) *ruleset.RuleSet {
	algorithm := "newest"
	if d.oldest {
		algorithm = "oldest"
	}
	body, err := json.Marshal(map[string]any{
		"ruleLanguageVersion": "1.0", "algorithm": map[string]any{"expansionAgeSelection": algorithm}, "teams": d.teams,
		"rules": append([]map[string]any{}, d.rules...), "expansions": append([]map[string]any{}, d.expansions...),
		"playerAttributes": []any{
			map[string]any{"name": "skill", "type": "number", "default": 0},
			map[string]any{"name": "mode", "type": "string", "default": "ranked"},
			map[string]any{"name": "role", "type": "string", "default": "damage"},
			map[string]any{"name": "lane", "type": "string", "default": "middle"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	rs, err := ruleset.Parse(string(body))
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return rs
}

// rewrite returns a rule set that means the same, and what was done.
func (d drawn) rewrite(t *rapid.T) (drawn, string) {
	out := d
	rules := append([]map[string]any(nil), d.rules...)
	switch way := rapid.IntRange(0, 4).Draw(t, "rewrite"); way {
	case 0:
		out.rules = append(rules, map[string]any{"name": "Always", "type": "comparison", "operation": ">=", "referenceValue": -1,
			"measurements": []any{"flatten(" + players + "[skill])"}})
		return out, "a rule that always holds"
	case 1:
		out.teams = []map[string]any{{"name": "team", "minPlayers": d.teams[0]["minPlayers"], "maxPlayers": d.teams[0]["maxPlayers"], "quantity": len(d.teams)}}
		return out, "teams by quantity"
	case 2:
		if len(rules) > 0 {
			again := map[string]any{}
			for k, v := range rules[0] {
				again[k] = v
			}
			if again["name"] = "Again"; len(d.expansions) == 0 {
				out.rules = append(rules, again)
				return out, "a rule written twice"
			}
		}
	case 3:
		if len(d.expansions) == 0 {
			out.oldest = !d.oldest
			return out, "the age of the other ticket, with a single level"
		}
	}
	never := map[string]any{"target": "teams[" + d.teams[0]["name"].(string) + "].minPlayers", "steps": []any{map[string]any{"waitTimeSeconds": 3600, "value": 1}}}
	out.expansions = append(append([]map[string]any(nil), d.expansions...), never)
	return out, "an expansion that is not reached"
}

// loosen returns a rule set that allows each match that d allows, and what was done.
func (d drawn) loosen(t *rapid.T) (drawn, string) {
	out := d
	if len(d.rules) == 0 {
		return out, "nothing"
	}
	drop := rapid.IntRange(0, len(d.rules)-1).Draw(t, "dropped")
	out.rules, out.expansions = nil, nil
	for i, r := range d.rules {
		if i != drop {
			out.rules = append(out.rules, r)
		}
	}
	for _, e := range d.expansions { // of other rules
		if !strings.Contains(e["target"].(string), "["+d.rules[drop]["name"].(string)+"]") {
			out.expansions = append(out.expansions, e)
		}
	}
	return out, fmt.Sprintf("without %s", d.rules[drop]["name"])
}

// A rule set is played on a few evenings: one says little about a few hundred players. What those
// seem to show has to be so on many, since the tickets that wait at the end differ by chance.
const (
	few  = 3
	more = 15
)

// long is the processor time after which an evening that does not end is ended: some hundred times
// what one takes.
const long = time.Minute

// shown plays a rule set on so many evenings.
func shown(t *rapid.T, d drawn, evenings int) (r result) {
	data, err := os.ReadFile(filepath.Join("players", "one-region.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	rs, matched := d.ruleSet(t), 0
	for seed := range uint64(evenings) {
		spec, err := sim.ReadSpec(data)
		if err != nil {
			t.Fatal(err)
		}
		fit(spec, rs, *rate)
		begin := used()
		report, err := sim.Run(sim.Options{RuleSet: rs, Spec: spec, For: 40 * time.Second, Seed: seed, Reached: func(time.Duration) error {
			if used()-begin > long {
				return errTooLong
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if report.Effort.Rejected > 0 {
			t.Fatalf("%d matches were refused by the definition", report.Effort.Rejected)
		}
		r.players += report.Players.Arrived
		matched += report.Players.Matched + report.Players.Pending
		r.p50 += report.Wait.P50 / float64(evenings)
	}
	r.share = float64(matched) / float64(max(1, r.players))
	return r
}

// Rule sets that mean the same match the same share of the players, and one that allows more does
// not match fewer.
func TestRelations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		same, how := d.rewrite(t)
		weaker, without := d.loosen(t)
		size := len(d.teams) * d.teams[0]["maxPlayers"].(int)
		broken := ""
		for _, evenings := range [...]int{few, more} {
			a := shown(t, d, evenings)
			matches := max(2*point, 2*float64(size)/float64(a.players)) // the tolerance is two matches
			b, c := shown(t, same, evenings), shown(t, weaker, evenings)
			switch broken = ""; {
			case b.share < a.share-matches || b.share > a.share+matches || b.p50 > a.p50*wait+0.2 || a.p50 > b.p50*wait+0.2:
				broken = fmt.Sprintf("%s: %.3f of %d players are matched, p50 %.1f s; without it %.3f, %.1f s", how, b.share, b.players, b.p50, a.share, a.p50)
			case c.share < a.share-matches:
				broken = fmt.Sprintf("%s: %.3f of %d players are matched; with it %.3f", without, c.share, c.players, a.share)
			}
			if broken == "" {
				return
			}
		}
		t.Fatal(broken)
	})
}
