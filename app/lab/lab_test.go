package lab_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/app/lab"
	"github.com/musterhq/muster/console"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/trace"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/sim"
)

const duel = `{
  "ruleLanguageVersion": "1.0",
  "playerAttributes": [{"name": "skill", "type": "number"}],
  "teams": [{"name": "red", "minPlayers": 1, "maxPlayers": 1}, {"name": "blue", "minPlayers": 1, "maxPlayers": 1}],
  "rules": [
    {"name": "Window", "type": "batchDistance", "batchAttribute": "skill", "maxDistance": 50}
  ],
  "expansions": [{"target": "rules[Window].maxDistance", "steps": [{"waitTimeSeconds": 10, "value": 100}]}]
}`

var wide = strings.Replace(duel, "50}", "400}", 1)

const players = `{"populations": [{"tickets_per_minute": 60, "attributes": {"skill": {"number": {"normal": {"mean": 1500, "sd": 300}, "min": 0}}}}]}`

func newLab() *lab.Lab {
	l := lab.New(nil)
	l.Share = 1
	return l
}

func quiet(console.Progress) error { return nil }

// The result has the figures of muster simulate: sim.Versus with the same options.
func TestSimulate_AsTheCommand(t *testing.T) {
	t.Parallel()
	in := &console.Simulation{A: duel, B: wide, Players: []byte(players), Minutes: 5, Seed: 9, Runs: 3}
	got, err := newLab().Simulate(t.Context(), in, quiet)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := sim.ReadSpec([]byte(players))
	if err != nil {
		t.Fatal(err)
	}
	want, err := sim.Versus(sim.Options{Spec: spec, For: 5 * time.Minute, Seed: 9}, side(t, "a", duel), side(t, "b", wide), 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got.(*lab.Result).Comparison, want)
	if r := got.(*lab.Result); r.Runs != 3 || r.A.Tickets.Arrived < 200 || !strings.Contains(r.Gains, "he wait of nine in ten tickets is shorter") || !strings.Contains(r.Losses, "skill spread in nine of ten matches is wider") {
		t.Errorf("%d runs, %+v; gains %q, losses %q", r.Runs, r.A.Tickets, r.Gains, r.Losses)
	}
}

// A rule set alone has the figures that it has beside another.
func TestSimulate_Alone(t *testing.T) {
	t.Parallel()
	in := console.Simulation{B: wide, Players: []byte(players), Minutes: 5, Seed: 9, Runs: 3}
	var runs int
	got, err := newLab().Simulate(t.Context(), &in, func(p console.Progress) error { runs = p.Runs; return nil })
	if err != nil {
		t.Fatal(err)
	}
	in.A = duel
	both, err := newLab().Simulate(t.Context(), &in, quiet)
	if err != nil {
		t.Fatal(err)
	}
	alone, beside := got.(*lab.Result), both.(*lab.Result)
	if runs != 3 || alone.Runs != 3 || alone.Gains != "" || alone.Losses != "" || alone.Played.Playing <= alone.B.Played.Playing || alone.Played.Playing >= beside.Played.Playing {
		t.Errorf("%d and %d runs, %+v; gains %q, losses %q", runs, alone.Runs, alone.Played, alone.Gains, alone.Losses)
	}
	same(t, alone.B, beside.B)
	for i, row := range alone.Rows {
		if other := beside.Rows[i]; row.Name != other.Name || row.B != other.B || row.A != row.B || row.Delta != 0 {
			t.Errorf("alone %+v, beside another %+v", row, other)
		}
	}
}

func side(t *testing.T, label, body string) sim.Side {
	t.Helper()
	rs, err := ruleset.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	return sim.Side{Label: label, RuleSet: rs}
}

func same(t *testing.T, got, want any) {
	t.Helper()
	a, errA := json.Marshal(got)
	b, errB := json.Marshal(want)
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("%v %v\n got %.600s\nwant %.600s", errA, errB, a, b)
	}
}

// traced returns n tickets, one a second, with three skills.
func traced(n int) (out []trace.Ticket) {
	for i := range n {
		skill := float64(1000 + 40*(i%3))
		id := fmt.Sprint(i)
		out = append(out, trace.Ticket{At: float64(i), TicketID: id, Players: []trace.Player{{PlayerID: id, Attributes: map[string]trace.Attribute{"skill": {N: &skill}}}}})
	}
	return out
}

// A trace is divided into stretches, whose figures together are those of the whole.
func TestSimulate_Trace(t *testing.T) {
	t.Parallel()
	l := newLab()
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	l.Trace = func(_ context.Context, name string, from time.Time, most int) ([]trace.Ticket, error) {
		if name != "ranked" || !from.Equal(since) || most != lab.MaxTraced {
			t.Errorf("asked for %d tickets of %s since %s", most, name, from)
		}
		return traced(600), nil
	}
	got, err := l.Simulate(t.Context(), &console.Simulation{A: duel, B: wide, Configuration: "ranked", Since: &since, Runs: 6, Seed: 1}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	r := got.(*lab.Result)
	if r.Runs != 6 || r.A.Tickets.Arrived != 600 || r.Cut || r.Early {
		t.Errorf("%d stretches, %d tickets, cut %v, early %v", r.Runs, r.A.Tickets.Arrived, r.Cut, r.Early)
	}
	for _, row := range r.Rows[:5] {
		if row.Range == nil || row.RangeA == nil || row.RangeA.Low > row.A || row.RangeA.High < row.A {
			t.Errorf("%s: %v has the interval %v, the difference %v", row.Name, row.A, row.RangeA, row.Range)
		}
	}
	if matched := r.Rows[0]; matched.Name != "tickets matched" || matched.A < 95 {
		t.Errorf("%+v", matched)
	}
}

func TestSimulate_Refuses(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for want, change := range map[string]func(*console.Simulation){
		"b: is no rule set: E_":                func(in *console.Simulation) { in.B = "{}" },
		"runs: must be from 1 to 20":           func(in *console.Simulation) { in.Runs = 21 },
		"minutes: must be above 0 and at most": func(in *console.Simulation) { in.Minutes = 1441 },
		"players.populations: at least one":    func(in *console.Simulation) { in.Players = nil },
		"players: read players: ":              func(in *console.Simulation) { in.Players = []byte(`{"populations": 3}`) },
		"configuration: required with since":   func(in *console.Simulation) { in.Since = &now },
		"since: idle has no tickets since":     func(in *console.Simulation) { in.Since, in.Configuration = &now, "idle" },
		"at most 60000 are simulated": func(in *console.Simulation) {
			in.Players = []byte(strings.Replace(players, ": 60,", ": 6000,", 1))
			in.Minutes = 11
		},
		"passes are more than 200000": func(in *console.Simulation) {
			in.Players = []byte(strings.Replace(players, "{", `{"matchmaking": {"pass_interval_seconds": 0.01},`, 1))
			in.Minutes = 60
		},
		"attribute skill is a string": func(in *console.Simulation) {
			in.Players = []byte(`{"populations": [{"tickets_per_minute": 1, "attributes": {"skill": {"string": {"a": 1}}}}]}`)
		},
		"more than 10000 tickets are in play": func(in *console.Simulation) {
			in.Players = []byte(`{"matchmaking": {"request_timeout_seconds": 3600}, "populations": [{"tickets_per_minute": 2000}]}`)
			in.Minutes = 20
		},
	} {
		l := newLab()
		l.Trace = func(context.Context, string, time.Time, int) ([]trace.Ticket, error) { return nil, nil }
		in := &console.Simulation{A: duel, B: wide, Players: []byte(players), Minutes: 1, Runs: 1}
		change(in)
		_, err := l.Simulate(t.Context(), in, quiet)
		f, ok := fault.As(err)
		if !ok || !strings.Contains(f.Message, want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}

// A simulation ends soon after nobody waits for it any more, and at the bound on time.
func TestSimulate_Ends(t *testing.T) {
	t.Parallel()
	in := &console.Simulation{A: duel, B: wide, Players: []byte(strings.Replace(players, ": 60,", ": 600,", 1)), Minutes: 60, Runs: 20}
	ctx, cancel := context.WithCancel(t.Context())
	told := 0
	_, err := newLab().Simulate(ctx, in, func(console.Progress) error { told++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || told != 1 {
		t.Errorf("cancelled: %v after %d steps", err, told)
	}
	gone := errors.New("gone")
	if _, err := newLab().Simulate(t.Context(), in, func(console.Progress) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("nobody reads: %v", err)
	}
	l := newLab()
	l.Most = time.Nanosecond
	if _, err := l.Simulate(t.Context(), in, quiet); !fault.Is(err, fault.LimitExceeded) {
		t.Errorf("out of time: %v", err)
	}
	// With some runs done, they are the result.
	l = newLab()
	in.Minutes = 1
	late := func(p console.Progress) error {
		if p.Run > 4 {
			l.Most = time.Nanosecond
		}
		return nil
	}
	got, err := l.Simulate(t.Context(), in, late)
	if err != nil {
		t.Fatal(err)
	}
	if r := got.(*lab.Result); !r.Early || r.Runs != 2 {
		t.Errorf("early %v, %d runs", r.Early, r.Runs)
	}
}

// A simulation uses no more than its share of a processor.
func TestSimulate_GivesWay(t *testing.T) {
	t.Parallel()
	l := lab.New(nil)
	l.Share = 0.1
	in := &console.Simulation{A: duel, B: wide, Players: []byte(strings.Replace(players, ": 60,", ": 600,", 1)), Minutes: 2, Runs: 1}
	steps := 0
	begun := time.Now()
	if _, err := l.Simulate(t.Context(), in, func(console.Progress) error { steps++; return nil }); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); steps < 3 || took < time.Duration(steps)*18*time.Millisecond {
		t.Errorf("%d slices of at least 2 ms at a tenth of a processor took %s", steps, took)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	body := strings.Replace(duel, `"maxDistance": 50`, `"maxDistance": "close"`, 1)
	c := lab.Check(body)
	if c.Valid || len(c.Errors) != 1 || c.Errors[0].Line != 6 || c.Errors[0].Column < 80 || c.Errors[0].Member != "rules[0].maxDistance" {
		t.Errorf("errors %+v", c.Errors)
	}
	c = lab.Check(duel)
	if !c.Valid || len(c.Errors)+len(c.Warnings) > 0 || len(c.Levels) != 2 || c.Rules[0].Line != 6 || *c.Rules[0].Limit != 50 {
		t.Fatalf("%+v", c)
	}
	if l := c.Levels[1]; l.From != 10 || l.Most != 2 || len(l.Changes) != 1 || *l.Changes[0].Old != 50 || *l.Changes[0].New != 100 || l.Changes[0].Line != 6 {
		t.Errorf("level %+v", l)
	}
	doubtful := strings.NewReplacer(`"value": 100`, `"value": 20`, `"number"}]`, `"number"}, {"name": "mode", "type": "string"}]`).Replace(duel)
	c = lab.Check(doubtful)
	if len(c.Warnings) != 2 || c.Warnings[0].Line != 3 || !strings.Contains(c.Warnings[0].Message, "no rule reads mode") ||
		c.Warnings[1].Line != 8 || !strings.Contains(c.Warnings[1].Message, "stricter, maxDistance from 50 to 20") {
		t.Errorf("warnings %+v", c.Warnings)
	}
}

// The demo's and the documentation's rule sets give no warning.
func TestCheck_Examples(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile("../../sim/testdata/five-against-five.json")
	if err != nil {
		t.Fatal(err)
	}
	if c := lab.Check(string(body)); !c.Valid || len(c.Warnings) > 0 || !c.Latency {
		t.Errorf("%+v", c)
	}
}

// Players are drawn with roles in the shares that the rules count, and some that none counts.
func TestCheck_Weights(t *testing.T) {
	t.Parallel()
	body := func(attribute, teams, rules string) string {
		return `{"ruleLanguageVersion":"1.0","playerAttributes":[` + attribute + `],"teams":[` + teams + `],"rules":[` + rules + `]}`
	}
	rule := func(name, text, limits string) string {
		return `{"name":"` + name + `","type":"collection","operation":"contains","measurements":["teams[*].players.attributes[role]"],"referenceValue":"` + text + `",` + limits + `}`
	}
	role, five := `{"name":"role","type":"string"}`, `{"name":"t","minPlayers":5,"maxPlayers":5,"quantity":2}`
	for _, c := range []struct {
		body string
		want map[string]float64
	}{
		{body(role, five, rule("T", "tank", `"minCount":1,"maxCount":1`)+","+rule("H", "healer", `"minCount":1,"maxCount":2`)), map[string]float64{"tank": 1, "healer": 1.5, "other": 2.5}},
		{body(`{"name":"role","type":"string","default":"damage"}`, five, rule("T", "tank", `"maxCount":2`)), map[string]float64{"tank": 1, "damage": 4}},
		{body(role, five, rule("T", "tank", `"minCount":2,"maxCount":2`)+","+rule("H", "healer", `"minCount":3`)), map[string]float64{"tank": 2, "healer": 3}},
		{body(role, five, rule("T", "tank", `"maxCount":0`)), map[string]float64{"other": 5}},
		{body(role, five, `{"name":"Same","type":"batchDistance","batchAttribute":"role"}`), nil},
	} {
		checked := lab.Check(c.body)
		if !checked.Valid || !maps.Equal(checked.Attributes[0].Weights, c.want) {
			t.Errorf("%s: %+v, weights %v; want %v", c.body, checked.Errors, checked.Attributes[0].Weights, c.want)
		}
	}
}
