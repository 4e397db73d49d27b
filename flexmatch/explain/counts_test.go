package explain_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/flexmatch/explain"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// trinity is the rules of teams of five with one tank, one healer and three of damage.
var trinity = strings.Join([]string{
	counting("Tank", "teams[*]", "tank", `"minCount":1,"maxCount":1`),
	counting("Healer", "teams[*]", "healer", `"minCount":1,"maxCount":1`),
	counting("Damage", "teams[*]", "damage", `"minCount":3,"maxCount":3`),
}, ",")

func counting(name, teams, text, limits string) string {
	return fmt.Sprintf(`{"name":%q,"type":"collection","measurements":["%s.players.attributes[mode]"],"operation":"contains","referenceValue":%q,%s}`, name, teams, text, limits)
}

const fives = `{"name":"t","minPlayers":5,"maxPlayers":5,"quantity":2}`

// cast returns a ticket with a player for each role.
func cast(id string, roles ...string) *search.Ticket {
	t := party(id, 0, make([]float64, len(roles))...)
	for i, role := range roles {
		t.Players[i].Attributes["mode"] = ruleset.Given{Type: ruleset.String, Value: ruleset.Value{String: role}}
	}
	return t
}

func texts(causes []explain.Cause) (out []string) {
	for _, c := range causes {
		out = append(out, c.Name+": "+c.Text)
	}
	return out
}

// A party that no team can take can never be matched.
func TestTicket_NeverByCounts(t *testing.T) {
	red := `{"name":"red","minPlayers":2,"maxPlayers":2},{"name":"blue","minPlayers":2,"maxPlayers":2}`
	for _, c := range []struct {
		name  string
		teams string
		rules string
		roles string
		want  []string
	}{
		{"too many", fives, trinity, "healer healer", []string{`Healer: 2 of its 2 players have "healer", and the rule Healer allows 1 in a team`}},
		{"no room", fives, counting("Tank", "teams[*]", "tank", `"minCount":1`), "damage damage damage damage damage",
			[]string{`Tank: 0 of its 5 players have "tank", the rule Tank needs 1 in a team, and beside them a team has room for 0`}},
		{"no room for two", fives, counting("Tank", "teams[*]", "tank", `"minCount":1`) + "," + counting("Healer", "teams[*]", "healer", `"minCount":2`), "damage damage damage",
			[]string{`Healer: 0 of its 3 players have "healer", the rule Healer needs 2 in a team, and beside them a team has room for 2`}},
		{"just fits", fives, trinity, "healer damage damage damage", nil},
		{"the other team takes it", red, counting("Red", "teams[red]", "tank", `"maxCount":1`), "tank tank", nil},
		{"each team has its reason", red, counting("Red", "teams[red]", "tank", `"maxCount":1`) + "," + counting("Blue", "teams[blue]", "healer", `"minCount":1`), "tank tank",
			[]string{`Red: 2 of its 2 players have "tank", and the rule Red allows 1 in a team`,
				`Blue: 0 of its 2 players have "healer", the rule Blue needs 1 in a team, and beside them a team has room for 0`}},
	} {
		e := ask(rules(t, c.teams, c.rules, ""), 0, cast("me", strings.Fields(c.roles)...), cast("other", "tank"))
		if diff := cmp.Diff(c.want, texts(e.Never)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// Players of a game session that break a rule about counts are judged in their teams.
func TestTicket_BackfillByCounts(t *testing.T) {
	filling := cast("me", "healer", "healer")
	filling.Backfill = true
	for i := range filling.Players {
		filling.Players[i].Team = fmt.Sprintf("t_%d", i+1)
	}
	rs := rules(t, fives, trinity, "")
	if e := ask(rs, 0, filling); e.Never != nil {
		t.Errorf("never %v; each team has one healer", texts(e.Never))
	}
	filling.Players[1].Team = "t_1"
	want := []string{`Healer: 2 of the 2 players in team t_1 have "healer", and the rule Healer allows 1 in a team`}
	if diff := cmp.Diff(want, texts(ask(rs, 0, filling).Never)); diff != "" {
		t.Error(diff)
	}
}

// A party that a team takes after an expansion step is told so.
func TestTicket_CountsAfterStep(t *testing.T) {
	rs := rules(t, fives, trinity, `{"target":"rules[Healer].maxCount","steps":[{"waitTimeSeconds":20,"value":2}]},{"target":"rules[Damage].minCount","steps":[{"waitTimeSeconds":20,"value":2}]}`)
	e := ask(rs, 5, cast("me", "healer", "healer"))
	want := []string{`Healer: 2 of its 2 players have "healer", and the rule Healer allows 1 in a team; once it has waited 20s, it no longer does`}
	if diff := cmp.Diff(want, texts(e.Alone)); diff != "" || e.Never != nil {
		t.Errorf("never %v, alone %s", texts(e.Never), diff)
	}
}

// The nearest group keeps places for who is missing, leaves out tickets that can never be
// matched, and says whom it lacks.
func TestTicket_NearestLacks(t *testing.T) {
	rs := rules(t, fives, trinity, "")
	waiting := []*search.Ticket{cast("me", "tank"), cast("never", "tank", "tank")}
	for i := range 12 {
		waiting = append(waiting, cast(fmt.Sprintf("d%d", i), "damage"))
	}
	waiting = append(waiting, cast("healer", "healer"))
	e := ask(rs, 1, waiting...)
	g := e.Nearest
	if g.Players != 8 || g.MissingSmallest != 2 || strings.Contains(fmt.Sprint(g.Tickets), "never") {
		t.Errorf("group %+v; want the tank, the healer and 6 of damage", g)
	}
	lacks := []search.Shortage{{Rule: "Tank", String: "tank", Has: 1, Needs: 2}, {Rule: "Healer", String: "healer", Has: 1, Needs: 2}}
	if diff := cmp.Diff(lacks, g.Lacks); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]explain.Refusal{{Rule: "Damage", Tickets: 6}}, g.Rejected); diff != "" {
		t.Error(diff)
	}
	var out bytes.Buffer
	if err := e.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	if want := `  It lacks 1 player with "tank": the rule Tank needs 2 in the match, and it has 1.`; !strings.Contains(out.String(), want) {
		t.Errorf("the text lacks %q:\n%s", want, out.String())
	}

	e = ask(rs, 1, append(waiting, cast("t2", "tank"), cast("h2", "healer"))...)
	if g := e.Nearest; !g.Match || g.Lacks != nil || e.Would == nil {
		t.Errorf("with a tank and a healer more: %+v; want a match", g)
	}
	v := explain.Pool(rs, search.Options{}, waiting, second(1), explain.Limits{})
	if want := []explain.CauseCount{{Code: explain.BreaksRule, Name: "Tank", Text: "the ticket breaks the rule Tank by itself", Tickets: 1}}; !cmp.Equal(want, v.Never) {
		t.Errorf("the pool's never: %+v", v.Never)
	}
	if want := []explain.LackLoad{{Rule: "Healer", String: "healer", Tickets: 14}, {Rule: "Tank", String: "tank", Tickets: 14}}; !cmp.Equal(want, v.Lacks) {
		t.Errorf("the pool lacks: %+v", v.Lacks)
	}
}

// Attributes that the rule set does not declare are named, with what may have been meant.
func TestTicket_Undeclared(t *testing.T) {
	rs := rules(t, duel, window, "")
	me, other := solo("me", 0, 1), solo("other", 0, 1)
	for _, p := range []*search.Player{&me.Players[0], &other.Players[0]} {
		p.Attributes["Skil"] = p.Attributes["skill"]
	}
	me.Players[0].Attributes["xyz"] = me.Players[0].Attributes["skill"]
	want := []explain.Undeclared{{Attribute: "Skil", Tickets: 1, Nearest: "skill"}, {Attribute: "xyz", Tickets: 1}}
	if diff := cmp.Diff(want, ask(rs, 0, me, other).Undeclared); diff != "" {
		t.Error(diff)
	}
	want[0].Tickets = 2
	v := explain.Pool(rs, search.Options{}, []*search.Ticket{me, other}, second(0), explain.Limits{})
	if diff := cmp.Diff(want, v.Undeclared); diff != "" {
		t.Error(diff)
	}
	var out bytes.Buffer
	if err := v.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	if want := `The rule set does not declare the attribute "Skil" of 2 tickets, so no rule reads it (did you mean "skill"?).`; !strings.Contains(out.String(), want) {
		t.Errorf("the text lacks %q:\n%s", want, out.String())
	}
}
