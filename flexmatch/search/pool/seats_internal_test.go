package pool

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

var strs = []string{"tank", "healer", "damage"}

// drawLevel draws a rule set of small teams with rules about counts, and its columns.
func drawLevel(t *rapid.T) *columns {
	var teams, rules []string
	for n := range rapid.IntRange(1, 4).Draw(t, "teams") {
		most := rapid.IntRange(1, 4).Draw(t, "most")
		teams = append(teams, fmt.Sprintf(`{"name":"t%d","minPlayers":%d,"maxPlayers":%d}`, n, rapid.IntRange(0, most).Draw(t, "least"), most))
	}
	for n := range rapid.IntRange(1, 5).Draw(t, "rules") {
		of := rapid.SampledFrom([]string{"teams[*].players.attributes[role]", "flatten(teams[*].players.attributes[role])",
			"teams[t0].players.attributes[role]", "teams[*].players.attributes[roles]"}).Draw(t, "of")
		limits := ""
		least := rapid.IntRange(0, 2).Draw(t, "minCount")
		if least > 0 {
			limits = fmt.Sprintf(`,"minCount":%d`, least)
		}
		if least == 0 || rapid.Bool().Draw(t, "limited") {
			limits += fmt.Sprintf(`,"maxCount":%d`, least+rapid.IntRange(0, 2).Draw(t, "maxCount"))
		}
		rules = append(rules, fmt.Sprintf(`{"name":"r%d","type":"collection","operation":"contains","measurements":[%q],"referenceValue":%q%s}`,
			n, of, rapid.SampledFrom(strs).Draw(t, "string"), limits))
	}
	rs, err := ruleset.Parse(fmt.Sprintf(`{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"role","type":"string"},{"name":"roles","type":"string_list"}],
		"teams":[%s],"rules":[%s]}`, strings.Join(teams, ","), strings.Join(rules, ",")))
	if err != nil {
		t.Skip(err)
	}
	return columnsOf(search.RulesOf(rs, search.Options{}))
}

// drawKinds draws tickets, and returns their kinds.
func drawKinds(t *rapid.T, c *columns) (kinds []int32) {
	for n := range rapid.IntRange(1, 6).Draw(t, "tickets") {
		ticket := &search.Ticket{ID: fmt.Sprint(n)}
		for range rapid.IntRange(1, 3).Draw(t, "players") {
			ticket.Players = append(ticket.Players, search.Player{ID: "p", Attributes: map[string]ruleset.Given{
				"role":  {Type: ruleset.String, Value: ruleset.Value{String: rapid.SampledFrom(strs).Draw(t, "role")}},
				"roles": {Type: ruleset.StringSet, Value: ruleset.Value{Strings: rapid.SliceOfNDistinct(rapid.SampledFrom(strs), 1, 2, rapid.ID).Draw(t, "roles")}},
			}})
		}
		it := new(item)
		if !it.Prepare(c.rs, ticket) {
			t.Fatal("a ticket lacks values")
		}
		c.know(it)
		kinds = append(kinds, it.kind)
	}
	return kinds
}

// possible reports whether some of the tickets can be distributed over the teams so that sizes and
// counts hold, by trying all ways.
func possible(c *columns, kinds []int32, teams []int) bool {
	if len(teams) < len(kinds) {
		for team := -1; team < len(c.rs.Instances); team++ {
			if possible(c, kinds, append(teams, team)) {
				return true
			}
		}
		return false
	}
	level := c.rs.Level(0)
	sizes, total := make([]int, len(level.Sizes)), 0
	for i, team := range teams {
		if team >= 0 {
			sizes[team] += c.kinds[kinds[i]].size
			total += c.kinds[kinds[i]].size
		}
	}
	for team, size := range level.Sizes {
		if sizes[team] < size.Min || sizes[team] > size.Max {
			return false
		}
	}
	for _, of := range search.AllCountsAt(level) {
		counts, whole := make([]int, len(sizes)), 0
		for i, team := range teams {
			if team >= 0 && slices.Contains(of.Instances, team) {
				counts[team] += c.kinds[kinds[i]].counts[c.textOf(&of.Counts)]
				whole += c.kinds[kinds[i]].counts[c.textOf(&of.Counts)]
			}
		}
		if of.Whole && (whole < of.Least() || whole > mostOf(&of.Counts)) {
			return false
		}
		for _, team := range of.Instances {
			if !of.Whole && (counts[team] > mostOf(&of.Counts) || sizes[team] > 0 && counts[team] < of.Least()) {
				return false
			}
		}
	}
	return total > 0
}

// Tickets reach a complete state if and only if they can fill the teams, in whatever way states are
// numbered; and if all teams are one part, they reach one if they can.
func TestSeats_ReachWhatIsPossible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawLevel(t)
		viable, united := c.seatsAt(0), c.seatsAt(0)
		if viable.together || c.seats[0].together {
			t.Skip("too many states")
		}
		if viable.count(false) {
			viable.findGoals()
		}
		united.unite(c, search.AllCountsAt(c.rs.Level(0)))
		united.findGoals()
		c.seats = append(c.seats, viable, united)
		kinds := drawKinds(t, c)
		want := possible(c, kinds, nil)
		var f filling
		for n, s := range c.seats {
			got := f.reaches(s, []state{0}, kinds, s.level.Capacity())
			if got != want && !(n == 2 && got) {
				t.Fatalf("numbering %d: reached %v, possible %v", n, got, want)
			}
		}
		if least := f.fill(c.seats[0], []state{0}, kinds, 1, c.rs.Level(0).Capacity()); least > 0 != want {
			t.Fatalf("filled with %d players, possible %v", least, want)
		}
	})
}
