package sim_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/trace"
	"github.com/musterhq/muster/sim"
)

const header = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"},{"name":"mode","type":"string","default":"any"}],`

func rules(t testing.TB, rest string) *ruleset.RuleSet {
	t.Helper()
	rs, err := ruleset.Parse(header + rest)
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

func spec(t testing.TB, text string) *sim.Spec {
	t.Helper()
	s, err := sim.ReadSpec([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run(t testing.TB, o sim.Options) *sim.Report {
	t.Helper()
	r, err := sim.Run(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// traced reads "at id skill" lines.
func traced(t testing.TB, lines ...string) *trace.Trace {
	t.Helper()
	out := &trace.Trace{}
	for _, line := range lines {
		var at, skill float64
		var id string
		if _, err := fmt.Sscan(line, &at, &id, &skill); err != nil {
			t.Fatal(err)
		}
		out.Tickets = append(out.Tickets, trace.Ticket{At: at, TicketID: id, Players: []trace.Player{{PlayerID: id, Attributes: map[string]trace.Attribute{"skill": {N: &skill}}}}})
	}
	return out
}

const duel = `"teams":[{"name":"red","minPlayers":1,"maxPlayers":1},{"name":"blue","minPlayers":1,"maxPlayers":1}],
"rules":[{"name":"Window","type":"batchDistance","batchAttribute":"skill","maxDistance":50}],
"expansions":[{"target":"rules[Window].maxDistance","steps":[{"waitTimeSeconds":10,"value":100}]}]}`

// Four tickets match as computed by hand: a and b at the first pass after b; c and d when
// the expansion lets them play together. e times out.
func TestRun_ByHand(t *testing.T) {
	s := spec(t, "matchmaking: {request_timeout_seconds: 30, pass_interval_seconds: 1}\nmatches: {length_seconds: 60}")
	r := run(t, sim.Options{RuleSet: rules(t, duel), Spec: s, For: 2 * time.Minute,
		Trace: traced(t, "0 a 100", "2.5 b 140", "10 c 500", "12 d 580", "20 e 9000")})
	want := sim.Outcomes{Arrived: 5, Matched: 4, TimedOut: 1}
	if r.Tickets != want || r.Players != want {
		t.Errorf("outcomes %+v, want %+v", r.Tickets, want)
	}
	// a waited 3 s, b 0.5 s, both matched at 3; c and d match when d is 10 s old, at 22.
	if r.Wait.Count != 4 || r.Wait.Max != 12 || math.Abs(r.Wait.Mean-(3+0.5+12+10)/4) > 0.001 {
		t.Errorf("waits %+v", r.Wait)
	}
	if rule := r.Rules[0]; rule.Relaxed != 1 || rule.Strict != 1 || rule.WaitRelaxed.Max != 12 || *rule.Limit != 50 || rule.Value.Max != 80 {
		t.Errorf("rule %+v", rule)
	}
	if len(r.Unmatched) != 1 || r.Unmatched[0].Text != "too few players waiting" {
		t.Errorf("unmatched %+v", r.Unmatched)
	}
	// waiting 3+0.5+12+10+30 s; playing: two matches of two for 60 s
	if r.Played.Playing != 4 || math.Abs(r.Played.Waiting-55.5/60) > 0.001 {
		t.Errorf("played %+v", r.Played)
	}
}

// The averages of teams differ where there are several; one alone has no difference, rather than 0.
func TestRun_OneTeam(t *testing.T) {
	const one = `"teams":[{"name":"all","minPlayers":2,"maxPlayers":2}]}`
	for rest, measured := range map[string]int{one: 0, duel: 1} {
		r := run(t, sim.Options{RuleSet: rules(t, rest), Spec: spec(t, "{}"), For: time.Minute, Trace: traced(t, "0 a 100", "1 b 140")})
		if a := r.Attributes; len(a) != 1 || a[0].Spread.Count != 1 || a[0].Spread.Max != 40 || a[0].Teams.Count != measured {
			t.Errorf("attributes %+v, want %d of the averages of %s", a, measured, rest)
		}
	}
}

func TestRun_Acceptance(t *testing.T) {
	for _, c := range []struct {
		name, behaviour string
		want            sim.Outcomes
		refused         int
	}{
		{"all accept", "accept: 1", sim.Outcomes{Arrived: 2, Matched: 2}, 0},
		{"nobody answers", "accept: 0", sim.Outcomes{Arrived: 2, Declined: 2}, 1},
		{"the first rejects, the other searches on", "accept: 0\n  reject: 1", sim.Outcomes{Arrived: 2, Declined: 1, Waiting: 1}, 1},
	} {
		s := spec(t, "matchmaking: {acceptance_required: true, acceptance_timeout_seconds: 20, pass_interval_seconds: 1}\npopulations:\n- tickets_per_minute: 0\n  "+c.behaviour)
		r := run(t, sim.Options{RuleSet: rules(t, duel), Spec: s, For: time.Minute, Trace: traced(t, "0 a 100", "0 b 100")})
		if r.Tickets != c.want || r.Matches.Refused != c.refused {
			t.Errorf("%s: %+v, refused %d; want %+v, %d", c.name, r.Tickets, r.Matches.Refused, c.want, c.refused)
		}
	}
}

// With automatic backfill a late player joins the running game session; without it the
// player does not.
func TestRun_Backfill(t *testing.T) {
	rs := rules(t, `"teams":[{"name":"t","minPlayers":2,"maxPlayers":3}]}`)
	for mode, matched := range map[string]int{"AUTOMATIC": 3, "MANUAL": 3, "NONE": 2} {
		s := spec(t, "matchmaking: {backfill: "+mode+", pass_interval_seconds: 1, request_timeout_seconds: 20}\nmatches: {length_seconds: 300}")
		r := run(t, sim.Options{RuleSet: rs, Spec: s, For: 5 * time.Minute, Trace: traced(t, "0 a 1", "0 b 1", "100 late 1")})
		if r.Tickets.Matched != matched || r.Matches.Filled != matched-2 {
			t.Errorf("%s: %d matched, %d filled", mode, r.Tickets.Matched, r.Matches.Filled)
		}
		if mode != "NONE" && r.Matches.Backfills < 5 {
			t.Errorf("%s: %d requests; one that times out after 20 s must be renewed", mode, r.Matches.Backfills)
		}
	}
}

// When players leave, a game server that requests backfill itself gets replacements.
func TestRun_ManualBackfillReplacesLeavers(t *testing.T) {
	rs := rules(t, `"teams":[{"name":"t","minPlayers":2,"maxPlayers":2}]}`)
	s := spec(t, "matchmaking: {backfill: MANUAL, pass_interval_seconds: 1}\nmatches: {length_seconds: 600}\npopulations:\n- tickets_per_minute: 0\n  stay_seconds: {choice: [{value: 30, weight: 1}]}")
	r := run(t, sim.Options{RuleSet: rs, Spec: s, For: 10 * time.Minute, Trace: traced(t, "0 a 1", "0 b 1", "1 c 1")})
	if r.Tickets.Matched != 2 || r.Tickets.TimedOut != 1 {
		t.Errorf("both left together, so nobody is there to join: %+v", r.Tickets)
	}
	s = spec(t, "matchmaking: {backfill: MANUAL, pass_interval_seconds: 1}\nmatches: {length_seconds: 600}\npopulations:\n- {name: short, tickets_per_minute: 0, stay_seconds: 30}\n- {name: long, tickets_per_minute: 0}")
	tr := traced(t, "0 a 1", "0 b 1", "1 c 1")
	tr.Tickets[0].Population, tr.Tickets[1].Population = "long", "short"
	r = run(t, sim.Options{RuleSet: rs, Spec: s, For: 10 * time.Minute, Trace: tr})
	if r.Tickets.Matched != 3 || r.Matches.Filled != 1 {
		t.Errorf("c did not take the place of b: %+v, %d filled", r.Tickets, r.Matches.Filled)
	}
}

const evening = `
name: evening
start_hour: 18
matchmaking: {request_timeout_seconds: 60, acceptance_required: %v, acceptance_timeout_seconds: 15, backfill: %s, placement_seconds: {uniform: [1, 4]}}
matches: {length_seconds: {normal: {mean: 300, sd: 60}, min: 60}}
populations:
- name: eu
  tickets_per_minute: 60
  parties: {1: 3, 2: 1, 3: 1}
  attributes:
    skill: {number: {normal: {mean: 1500, sd: 300}}, party_spread: 50}
    mode: {string: {ctf: 2, tdm: 1}, share: 0.9}
  latency_ms:
    eu-west-1: {lognormal: {median: 30, sigma: 0.4}}
    us-east-1: {normal: {mean: 110, sd: 15}, min: 60}
  accept: 0.9
  reject: 0.05
  answer_seconds: {uniform: [1, 8]}
  patience_seconds: {exponential: 90}
  stay_seconds: {exponential: 240}
- name: us
  tickets_per_minute: 20
  attributes:
    skill: {number: {normal: {mean: 1400, sd: 300}}}
  latency_ms: {us-east-1: {normal: {mean: 40, sd: 10}, min: 5}}
`

const teams = `"teams":[{"name":"t","minPlayers":2,"maxPlayers":4,"quantity":2}],
"rules":[{"name":"Window","type":"batchDistance","batchAttribute":"skill","maxDistance":200},{"name":"Near","type":"latency","maxLatency":60},
{"name":"Fair","type":"distance","measurements":["avg(teams[*].players.attributes[skill])"],"referenceValue":"avg(flatten(teams[*].players.attributes[skill]))","maxDistance":60}],
"expansions":[{"target":"rules[Window].maxDistance","steps":[{"waitTimeSeconds":10,"value":400},{"waitTimeSeconds":30,"value":800}]},{"target":"rules[Near].maxLatency","steps":[{"waitTimeSeconds":20,"value":150}]}]}`

// In every simulation each ticket ends in exactly one way or is still in play, and the
// same seed yields the same bytes.
func TestRun_ConservesAndRepeats(t *testing.T) {
	rs := rules(t, teams)
	rapid.Check(t, func(rt *rapid.T) {
		text := fmt.Sprintf(evening, rapid.Bool().Draw(rt, "acceptance"), rapid.SampledFrom([]string{"NONE", "AUTOMATIC", "MANUAL"}).Draw(rt, "backfill"))
		o := sim.Options{RuleSet: rs, Spec: spec(t, text), Seed: rapid.Uint64().Draw(rt, "seed"), For: time.Duration(rapid.IntRange(1, 150).Draw(rt, "seconds")) * time.Second}
		first := run(t, o)
		conserved(rt, first)
		o.Spec = spec(t, text)
		if a, b := encode(t, first), encode(t, run(t, o)); !bytes.Equal(a, b) {
			rt.Fatalf("the same seed gave two reports:\n%s\n%s", a, b)
		}
	})
}

func conserved(t *rapid.T, r *sim.Report) {
	sum := func(f sim.Outcomes) int {
		return f.Matched + f.TimedOut + f.Cancelled + f.Declined + f.Waiting + f.Pending
	}
	for name, f := range map[string]sim.Outcomes{"tickets": r.Tickets, "players": r.Players} {
		if sum(f) != f.Arrived {
			t.Fatalf("%s: %d arrived, %d are accounted for: %+v", name, f.Arrived, sum(f), f)
		}
	}
	arrived := 0
	for _, p := range r.Populations {
		if arrived += p.Tickets.Arrived; sum(p.Tickets) != p.Tickets.Arrived {
			t.Fatalf("population %+v does not add up", p)
		}
	}
	matched := 0
	for _, p := range r.Locations {
		matched += p.Tickets.Matched
	}
	moments := 0
	for _, m := range r.Timeline {
		moments += m.Matched
	}
	if arrived != r.Tickets.Arrived || matched != r.Tickets.Matched || moments != r.Tickets.Matched || r.Wait.Count != r.Tickets.Matched {
		t.Fatalf("parts do not add up: %d arrived, %d and %d matched of %+v", arrived, matched, moments, r.Tickets)
	}
	if r.Effort.Rejected > 0 {
		t.Fatalf("%d matches were refused by the reference", r.Effort.Rejected)
	}
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Two rule sets see the same arrivals; they differ only in what they allow.
func TestRun_SameArrivals(t *testing.T) {
	text := fmt.Sprintf(evening, true, "MANUAL")
	a := run(t, sim.Options{RuleSet: rules(t, teams), Spec: spec(t, text), Seed: 7, For: 5 * time.Minute})
	b := run(t, sim.Options{RuleSet: rules(t, strings.Replace(teams, `"maxDistance":200`, `"maxDistance":20`, 1)), Spec: spec(t, text), Seed: 7, For: 5 * time.Minute})
	if a.Tickets.Arrived != b.Tickets.Arrived || a.Players.Arrived != b.Players.Arrived {
		t.Errorf("%+v and %+v arrived", a.Tickets, b.Tickets)
	}
	if a.Wait.P50 >= b.Wait.P50 {
		t.Errorf("a ten times narrower window made nobody wait longer: %v and %v", a.Wait.P50, b.Wait.P50)
	}
}

// A simulation that is stopped has the report of one that was to play until then, but for the
// stretches of its timeline.
func TestRun_Stopped(t *testing.T) {
	o := sim.Options{RuleSet: ruleSetOf(t, "modes"), Spec: playersOf(t, "region-backfill"), Seed: 3, For: 20 * time.Minute}
	const half = 10 * time.Minute
	o.Reached = func(at time.Duration) error {
		if at >= half {
			return sim.ErrStop
		}
		return nil
	}
	stopped := run(t, o)
	o.For, o.Reached = half, nil
	want := run(t, o)
	stopped.Timeline = want.Timeline
	texts := make([]string, 0, 2)
	for _, r := range []*sim.Report{want, stopped} {
		text, err := json.MarshalIndent(r, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	if diff := cmp.Diff(texts[0], texts[1]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if want.Played.Playing == 0 {
		t.Error("nobody plays")
	}
}

// Hourly rates are followed: ten times as many tickets arrive at hour 3 as at hour 2.
func TestRun_RatesByHour(t *testing.T) {
	rates := make([]string, 24)
	for i := range rates {
		rates[i] = "0"
	}
	rates[2], rates[3] = "30", "300"
	s := spec(t, "start_hour: 2\npopulations:\n- tickets_per_minute: ["+strings.Join(rates, ",")+"]\n  attributes: {skill: {number: 1}}")
	r := run(t, sim.Options{RuleSet: rules(t, duel), Spec: s, Seed: 1, For: 5 * time.Hour})
	perHour := make([]int, 6)
	for _, m := range r.Timeline {
		perHour[int(math.Ceil(m.At/3600))] += m.Arrived
	}
	within := func(n, want int) bool { return math.Abs(float64(n-want)) < 5*math.Sqrt(float64(want)) }
	if !within(perHour[1], 1800) || !within(perHour[2], 18000) || perHour[4]+perHour[5] != 0 {
		t.Errorf("arrivals by hour %v", perHour)
	}
}

// Tickets arrive at the given rate, and the report says why some stayed unmatched.
func TestRun_TellsWhy(t *testing.T) {
	s := spec(t, "matchmaking: {request_timeout_seconds: 10}\npopulations:\n- tickets_per_minute: 600\n  attributes: {skill: {number: 1, share: 0.5}}")
	r := run(t, sim.Options{RuleSet: rules(t, duel), Spec: s, Seed: 1, For: 2 * time.Minute})
	if len(r.Unmatched) == 0 || r.Unmatched[0].Text != "has no value for attribute skill" {
		t.Errorf("unmatched %+v", r.Unmatched)
	}
	if r.Examined < 256 || r.Examined > 512 {
		t.Errorf("looked at %d", r.Examined)
	}
}

// wellFormed fails for text that is not XML.
func wellFormed(t *testing.T, text string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	}
}

// The documentation's examples run, in every format, and the HTML page needs no external
// resources.
func TestExamples(t *testing.T) {
	var reports []*sim.Report
	for _, name := range []string{"five-against-five", "five-against-five-patient"} {
		r := run(t, sim.Options{RuleSet: ruleSetOf(t, name), Label: name, Spec: playersOf(t, "evening"), Seed: 1, For: 5 * time.Minute})
		if r.Tickets.Matched < 500 {
			t.Errorf("%s: %+v", name, r.Tickets)
		}
		reports = append(reports, r)
	}
	both := sim.Compare(reports[:1], reports[1:])
	var text, page, pair bytes.Buffer
	if err := errors.Join(both.WriteText(&text), reports[0].WriteHTML(&page), both.WriteHTML(&pair)); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("the same %d tickets", reports[0].Tickets.Arrived); !strings.Contains(text.String(), want) {
		t.Errorf("comparison does not tell of %q:\n%s", want, text.String())
	}
	for name, p := range map[string]string{"report": page.String(), "comparison": pair.String()} {
		if strings.Count(p, "<svg") != 12 || !strings.Contains(p, "CloseSkill") || strings.Contains(p, "NaN") || strings.Count(p, `class="value"`) < 3 || strings.Count(p, `<line class="limit"`) < 3 {
			t.Errorf("%s has %d charts, or lacks a rule, a number, values of bars or limits", name, strings.Count(p, "<svg"))
		}
		for _, drawing := range strings.Split(p, "<svg")[1:] {
			wellFormed(t, "<svg"+drawing[:strings.Index(drawing, "</svg>")]+"</svg>")
		}
		for _, foreign := range []string{"http:", "https:", "src=", "@import", "url(", "<script"} {
			if strings.Contains(p, foreign) {
				t.Errorf("%s asks for something from elsewhere: %s", name, foreign)
			}
		}
	}
}

// Where nothing was matched there are no waits and no numbers: their places have a dash, and
// the counts are 0.
func TestReport_NothingMatched(t *testing.T) {
	t.Parallel()
	rs := rules(t, `"teams": [{"name": "all", "minPlayers": 40, "maxPlayers": 40}],
		"rules": [{"name": "Close", "type": "distance", "measurements": ["flatten(teams[*].players.attributes[skill])"], "referenceValue": 1, "maxDistance": 5}]}`)
	r := run(t, sim.Options{RuleSet: rs, Spec: spec(t, "populations: [{name: few, tickets_per_minute: 5, attributes: {skill: {number: {constant: 1}}}}]"), Seed: 1, For: time.Minute})
	if r.Tickets.Arrived == 0 || r.Tickets.Matched != 0 {
		t.Fatalf("tickets: %+v", r.Tickets)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"wait until matched, s 0 - - - - - - -", "latency in the match, ms 0 - - - - - - -", fmt.Sprintf("few %d 0.0 %% - - - - -", r.Tickets.Arrived), "Close distance - - - - - - 5.0", "skill - - - -"} {
		if !strings.Contains("\n"+strings.Join(strings.Fields(text.String()), " "), want) {
			t.Errorf("the report lacks %q:\n%s", want, text.String())
		}
	}
}

// Searches that a bound ended are a warning before all figures, in a report and for the one of two
// rule sets that has them; where there are none nothing is said of them.
func TestReport_WarnsOfCuts(t *testing.T) {
	t.Parallel()
	teams := `"teams": [{"name": "t", "minPlayers": 5, "maxPlayers": 5, "quantity": 2}]`
	never := rules(t, teams+`, "rules": [{"name": "Never", "type": "comparison", "measurements": ["avg(teams[*].players.attributes[skill])"], "operation": "<", "referenceValue": -1}]}`)
	many := spec(t, "populations: [{name: many, tickets_per_minute: 600, attributes: {skill: {number: {constant: 1}}}}]")
	good, bad := run(t, sim.Options{RuleSet: rules(t, teams+"}"), Spec: many, Seed: 1, For: 8 * time.Second}), run(t, sim.Options{RuleSet: never, Spec: many, Seed: 1, For: 8 * time.Second})
	for name, c := range map[string]struct {
		of   interface{ WriteText(io.Writer) error }
		want []string
	}{
		"good":    {good, nil},
		"bad":     {bad, []string{"Warning: searches were cut short", "Outcomes"}},
		"the two": {sim.Compare([]*sim.Report{good}, []*sim.Report{bad}), []string{"Warning: searches of B were cut short", "A and B"}},
	} {
		var text strings.Builder
		if err := c.of.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if strings.Count(text.String(), "Warning:") != len(c.want)/2 {
			t.Errorf("%s: warnings, want %d:\n%s", name, len(c.want)/2, text.String())
		}
		rest := text.String()
		for _, want := range c.want {
			_, after, ok := strings.Cut(rest, want)
			if rest = after; !ok {
				t.Errorf("%s: %q is missing, or not where it should be:\n%s", name, want, text.String())
			}
		}
	}
}
