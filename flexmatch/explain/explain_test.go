package explain_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/flexmatch/explain"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

var epoch = time.Unix(1_000_000, 0).UTC()

func second(s float64) time.Time { return epoch.Add(time.Duration(s * float64(time.Second))) }

// rules returns a rule set with a number attribute skill and a string attribute mode.
func rules(t testing.TB, teams, list, expansions string) *ruleset.RuleSet {
	t.Helper()
	rs, err := ruleset.Parse(fmt.Sprintf(`{"ruleLanguageVersion":"1.0",
"playerAttributes":[{"name":"skill","type":"number"},{"name":"mode","type":"string","default":"any"}],
"teams":[%s],"rules":[%s],"expansions":[%s]}`, teams, list, expansions))
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

const (
	duel   = `{"name":"red","minPlayers":1,"maxPlayers":1},{"name":"blue","minPlayers":1,"maxPlayers":1}`
	window = `{"name":"Window","type":"batchDistance","batchAttribute":"skill","maxDistance":50}`
	wider  = `{"target":"rules[Window].maxDistance","steps":[{"waitTimeSeconds":10,"value":80},{"waitTimeSeconds":30,"value":200}]}`
)

var arrival uint64

// solo returns a ticket of one player, created at a second.
func solo(id string, at, skill float64) *search.Ticket { return party(id, at, skill) }

// party returns a ticket with a player for each skill.
func party(id string, at float64, skills ...float64) *search.Ticket {
	arrival++
	t := &search.Ticket{ID: id, Created: second(at), Arrival: arrival}
	for i, skill := range skills {
		t.Players = append(t.Players, search.Player{ID: fmt.Sprintf("%s-%d", id, i), Attributes: map[string]ruleset.Given{
			"skill": {Type: ruleset.Number, Value: ruleset.Value{Number: skill}},
		}})
	}
	return t
}

func ask(rs *ruleset.RuleSet, at float64, waiting ...*search.Ticket) *explain.Explanation {
	return explain.Ticket(rs, search.Options{}, waiting[0], waiting, second(at), explain.Limits{})
}

func TestTicket_Never(t *testing.T) {
	near := window + `,{"name":"Near","type":"latency","maxLatency":50}`
	blank := &search.Ticket{ID: "me", Created: epoch, Players: []search.Player{{ID: "p"}}}
	slow := solo("me", 0, 1)
	slow.Players[0].Latency = map[string]float64{"eu": 80}
	for _, c := range []struct {
		name   string
		rs     *ruleset.RuleSet
		ticket *search.Ticket
		want   []string
	}{
		{"attribute", rules(t, duel, window, ""), blank, []string{explain.MissingAttribute}},
		{"attribute and latency", rules(t, duel, near, ""), blank, []string{explain.MissingAttribute, explain.NoLatency}},
		{"party", rules(t, duel, window, ""), party("me", 0, 1, 2), []string{explain.PartyTooLarge}},
		{"latency rule", rules(t, duel, near, ""), slow, []string{explain.BreaksRule}},
	} {
		e := ask(c.rs, 0, c.ticket, solo("other", 0, 1))
		var got []string
		for _, cause := range e.Never {
			got = append(got, cause.Code)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if e.Would != nil || e.Nearest != nil {
			t.Errorf("%s: told of a match that cannot be", c.name)
		}
	}
}

// A rule that the ticket breaks alone until an expansion step is reported as such.
func TestTicket_AloneUntilStep(t *testing.T) {
	rs := rules(t, duel, `{"name":"Good","type":"comparison","measurements":["flatten(teams[*].players.attributes[skill])"],"operation":">=","referenceValue":10}`,
		`{"target":"rules[Good].referenceValue","steps":[{"waitTimeSeconds":20,"value":0}]}`)
	e := ask(rs, 5, solo("me", 0, 5), solo("other", 0, 50))
	if len(e.Never) > 0 || len(e.Alone) != 1 || e.Alone[0].Name != "Good" {
		t.Fatalf("never %v, alone %v", e.Never, e.Alone)
	}
	if want := "5 below 10; once it has waited 20s, it no longer does"; !strings.HasSuffix(e.Alone[0].Text, want) {
		t.Errorf("text %q does not end in %q", e.Alone[0].Text, want)
	}
	if e.Would == nil || e.Would.In != 15_000 {
		t.Errorf("would %+v, want in 15 s", e.Would)
	}
}

func TestTicket_PlayersMissing(t *testing.T) {
	rs := rules(t, `{"name":"t","minPlayers":4,"maxPlayers":5,"quantity":2}`, window, "")
	e := ask(rs, 1, party("me", 0, 100, 110), solo("a", 0, 90), party("b", 0, 120, 125), solo("c", 0, 300))
	g := e.Nearest
	if g.Players != 5 || g.Smallest != 8 || g.Full != 10 || g.MissingSmallest != 3 || g.MissingFull != 5 {
		t.Errorf("group %+v; want 5 players, 3 and 5 missing", g)
	}
	if diff := cmp.Diff([]string{"me", "a", "b"}, g.Tickets); diff != "" {
		t.Error(diff)
	}
	if e.Would != nil {
		t.Errorf("would match: %+v", e.Would)
	}
}

// A rule that only a whole match can break is reported for the best group found.
func TestTicket_TeamRuleRefuses(t *testing.T) {
	rs := rules(t, duel, `{"name":"Even","type":"distance","measurements":["avg(teams[red].players.attributes[skill])"],"referenceValue":"avg(teams[blue].players.attributes[skill])","maxDistance":5}`, "")
	e := ask(rs, 1, solo("me", 0, 100), solo("a", 0, 120))
	if e.Compatible != 1 || len(e.Blocking) != 0 {
		t.Errorf("a team rule was judged on two tickets: %+v", e.Blocking)
	}
	if g := e.Nearest; g.Match || len(g.Broken) != 1 || g.Broken[0] != "Even" || g.MissingSmallest != 0 {
		t.Errorf("group %+v; want it refused by Even", g)
	}
}

func TestTicket_Backfill(t *testing.T) {
	rs := rules(t, `{"name":"t","minPlayers":2,"maxPlayers":3}`, window, wider)
	filling := party("me", 0, 100, 100)
	filling.Backfill = true
	for i := range filling.Players {
		filling.Players[i].Team = "t"
	}
	other := party("other", 0, 100, 100)
	other.Backfill, other.Players[0].Team, other.Players[1].Team = true, "t", "t"
	e := ask(rs, 0, filling, other, solo("late", 0, 170))
	if e.Would == nil || e.Would.In != 10_000 || e.Would.Players != 3 {
		t.Errorf("would %+v; want 3 players in 10 s", e.Would)
	}
	reasons := map[string]int{}
	for _, b := range e.Blocking {
		reasons[b.Rule+b.Reason] = b.Tickets
	}
	if diff := cmp.Diff(map[string]int{"Window": 1, explain.ReasonBackfill: 1}, reasons); diff != "" {
		t.Error(diff)
	}
	full := party("full", 0, 100, 100, 100)
	full.Backfill = true
	for i := range full.Players {
		full.Players[i].Team = "t"
	}
	if e := ask(rs, 0, full); len(e.Never) != 1 || e.Never[0].Code != explain.SessionFull {
		t.Errorf("never %+v; want SESSION_FULL", e.Never)
	}
}

func TestTicket_BoundedAndStable(t *testing.T) {
	rs := rules(t, `{"name":"t","minPlayers":5,"maxPlayers":5,"quantity":2}`, window, wider)
	var waiting []*search.Ticket
	for i := range 5000 {
		waiting = append(waiting, solo(fmt.Sprintf("k%d", i), float64(i)/1000, float64(i*7%5000)))
	}
	limits := explain.Limits{Others: 100, Ahead: 200, Passes: 5}
	first := explain.Ticket(rs, search.Options{}, waiting[0], waiting, second(6), limits)
	if first.Compared != 100 || first.Others != 4999 || !first.Ahead.Bounded || first.Ahead.Tickets > 200 || first.Ahead.Passes > 5 {
		t.Errorf("compared %d of %d, ahead %+v", first.Compared, first.Others, first.Ahead)
	}
	again := explain.Ticket(rs, search.Options{}, waiting[0], waiting, second(6), limits)
	if a, b := encode(t, first), encode(t, again); a != b {
		t.Errorf("the same question, two answers:\n%s\n%s", a, b)
	}
}

func TestPool_TellsWhatBlocks(t *testing.T) {
	rs := rules(t, duel, window+`,{"name":"Mode","type":"batchDistance","batchAttribute":"mode"}`, wider)
	waiting := []*search.Ticket{solo("a", 0, 0), solo("b", 0, 70), solo("c", 2, 1000), solo("d", 2, 2000)}
	waiting = append(waiting, &search.Ticket{ID: "blank", Created: second(2), Players: []search.Player{{ID: "p"}}})
	v := explain.Pool(rs, search.Options{}, waiting, second(8), explain.Limits{})
	if v.Waiting != 5 || v.Players != 5 || v.Levels[0] != 5 {
		t.Errorf("counted %+v", v)
	}
	if len(v.Never) != 1 || v.Never[0].Code != explain.MissingAttribute || v.Never[0].Tickets != 1 {
		t.Errorf("never %+v", v.Never)
	}
	if v.Examined != 4 || v.Pairs != 16 || v.Free != 0 || len(v.Rules) != 2 || v.Rules[0].Rule != "Window" || v.Rules[0].Pairs != 12 {
		t.Errorf("looked %d, pairs %d, free %d, rules %+v", v.Examined, v.Pairs, v.Free, v.Rules)
	}
	want := []explain.Coming{{In: 2000, Matches: 1, Tickets: 2, Players: 2}}
	if diff := cmp.Diff(want, v.Coming); diff != "" || v.Left != 3 {
		t.Errorf("left %d, coming %s", v.Left, diff)
	}
}

// Tickets that one rule alone keeps apart are sorted by when they may play, and the limits of
// all ages are with them.
func TestTicket_Misses(t *testing.T) {
	rs := rules(t, duel, window, wider)
	soon, later := int64(6000), int64(26_000)
	e := ask(rs, 4, solo("me", 0, 100), solo("far", 0, 400), solo("later", 0, 190), solo("soon", 0, 30))
	breach := func(v float64) explain.Breach { return explain.Breach{Rule: "Window", Value: v, Limit: 50} }
	want := []explain.Miss{
		{TicketID: "soon", Players: 1, Breach: breach(70), In: &soon},
		{TicketID: "later", Players: 1, Breach: breach(90), In: &later},
		{TicketID: "far", Players: 1, Breach: breach(300)},
	}
	if diff := cmp.Diff(want, e.Misses); diff != "" {
		t.Error(diff)
	}
	steps := []explain.Expansion{{Rule: "Window", Steps: []explain.ExpansionStep{{Limit: 50}, {From: 10_000, Limit: 80}, {From: 30_000, Limit: 200}}}}
	if diff := cmp.Diff(steps, e.Expansions); diff != "" {
		t.Error(diff)
	}
	// A rule of whole matches, which is not checked for two tickets: the group has its number.
	rs = rules(t, duel, `{"name":"Mean","type":"comparison","measurements":["avg(teams[*].players.attributes[skill])"],"referenceValue":150,"operation":"<="}`, "")
	e = ask(rs, 0, solo("me", 0, 170), solo("other", 0, 160))
	if diff := cmp.Diff([]explain.Breach{{Rule: "Mean", Value: 170, Limit: 150}}, e.Nearest.Breaches); diff != "" {
		t.Errorf("%s\n%+v", diff, e.Nearest)
	}
}

// The texts are compared as a whole, as people read them.
func TestWriteText(t *testing.T) {
	rs := rules(t, duel, window, wider)
	e := ask(rs, 2, solo("me", 0, 100), solo("near", 0, 190), solo("far", 0, 400))
	var out bytes.Buffer
	if err := e.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	want := `Ticket me of 1 player has waited 2s; expansion step 0 of 2
In 8s it reaches step 1, which changes rule Window
If nobody came or went it would be matched in 28s, at step 2, with 2 players.

Compared one by one with 2 other tickets: 0 could play with it.
  KEPT APART BY  TYPE           TICKETS  BY IT ALONE  NEAREST  LIMIT
  Window         batchDistance  2        2            90       50

  NEARLY  KEPT APART BY  VALUE  LIMIT  ALLOWED
  near    Window         90     50     in 28s
  far     Window         300    50     never

The largest group found around it has 1 player in 1 ticket (step 0).
  1 player short of the smallest match; 1 player short of a full one.
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	if err := explain.Pool(rs, search.Options{}, []*search.Ticket{solo("a", 0, 0), solo("b", 0, 70)}, second(8), explain.Limits{}).WriteText(&out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "In 2s a pass would form 1 match of 2 tickets with 2 players.") {
		t.Errorf("overview:\n%s", out.String())
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Who wants no answer any more stops both kinds of explanation, wherever they are: they ask so
// often that little is done after that.
func TestStop(t *testing.T) {
	rs := rules(t, `{"name":"t","minPlayers":5,"maxPlayers":5,"quantity":2}`, window, wider)
	var waiting []*search.Ticket
	for i := range 1000 {
		waiting = append(waiting, solo(fmt.Sprintf("k%d", i), float64(i)/100, float64(i*7%5000)))
	}
	run := func(after int) (asked int, v *explain.Overview, e *explain.Explanation) {
		limits := explain.Limits{Stop: func() bool { asked++; return asked > after }}
		v = explain.Pool(rs, search.Options{}, waiting, second(15), limits)
		whole := asked
		asked = 0
		return whole, v, explain.Ticket(rs, search.Options{}, waiting[0], waiting, second(15), limits)
	}
	whole, v, e := run(1_000_000)
	if whole < 2*v.Examined || v.Ahead.Passes < 2 || e.Ahead.Passes < 1 {
		t.Fatalf("asked %d times in an overview of %d tickets and %d passes, and %d passes of one ticket", whole, v.Examined, v.Ahead.Passes, e.Ahead.Passes)
	}
	if asked, v, e := run(1); asked > 10 || v.Examined > 1 || v.Ahead.Passes > 0 || e.Ahead.Passes > 0 {
		t.Errorf("after a stop: asked %d times, %d tickets, %d and %d passes", asked, v.Examined, v.Ahead.Passes, e.Ahead.Passes)
	}
}

// The tickets of which a pool's data is checked, and those that are examined, are evenly chosen by
// age; only their players' data is read, once, and an overview says how many they are.
func TestPool_ReadsSamples(t *testing.T) {
	rs := rules(t, duel, window, "")
	read := map[string]int{}
	var waiting []*search.Ticket
	for i := range 3000 {
		waiting = append(waiting, &search.Ticket{ID: fmt.Sprint(i), Created: second(0), Arrival: uint64(i), Players: make([]search.Player, 1)})
	}
	v := explain.Pool(rs, search.Options{}, waiting, second(8), explain.Limits{Counted: 300, Tickets: 10, Ahead: -1, Read: func(o *search.Ticket) {
		if read[o.ID]++; o.Arrival%10 != 0 {
			o.Players[0] = solo(o.ID, 0, 1000*float64(o.Arrival)).Players[0]
		}
	}})
	if v.Waiting != 3000 || v.Players != 3000 || v.Counted != 300 || len(v.Never) != 1 || v.Never[0].Tickets != 300 {
		t.Errorf("every tenth lacks its skill, and each of them is checked; got %+v", v)
	}
	for id, times := range read {
		if times != 1 {
			t.Errorf("ticket %s was read %d times", id, times)
		}
	}
	if len(read) > 300+10*256 {
		t.Errorf("%d tickets were read", len(read))
	}
}

// When playing ahead takes too long, it ends after the moment that it is at, and says how far it got.
func TestAhead_Time(t *testing.T) {
	rs := rules(t, duel, window, wider)
	waiting := []*search.Ticket{solo("me", 0, 100), solo("far", 0, 250), solo("other", 0, 2000)}
	now := epoch
	limits := explain.Limits{Time: time.Second, Clock: func() time.Time { now = now.Add(700 * time.Millisecond); return now }}
	e := explain.Ticket(rs, search.Options{}, waiting[0], waiting, second(0), limits)
	if e.Would != nil || !e.Ahead.Cut || e.Ahead.Passes == 0 || e.Ahead.Until >= 30_000 {
		t.Errorf("would %+v, ahead %+v; want it cut before 30 s", e.Would, e.Ahead)
	}
	var out bytes.Buffer
	if err := e.WriteText(&out); err != nil || !strings.Contains(out.String(), "; what comes later was not played ahead") {
		t.Errorf("%v\n%s", err, out.String())
	}
	limits.Time = time.Hour
	if e = explain.Ticket(rs, search.Options{}, waiting[0], waiting, second(0), limits); e.Would == nil || e.Ahead.Cut {
		t.Errorf("with time enough: %+v, ahead %+v", e.Would, e.Ahead)
	}
}
