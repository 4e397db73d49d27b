package aws

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/trace"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/sim"
	"github.com/musterhq/muster/test/node"
)

// windowed matches two players whose skills are at most 50 apart; after an hour, 100.
const windowed = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],
"teams":[{"name":"t","minPlayers":2,"maxPlayers":2}],
"rules":[{"name":"Window","type":"batchDistance","batchAttribute":"skill","maxDistance":50}],
"expansions":[{"target":"rules[Window].maxDistance","steps":[{"waitTimeSeconds":3600,"value":100}]}]}`

// waiting starts a Muster with three tickets that cannot be matched yet: me with skill
// 100, near with 190, far with 400.
func waiting(t *testing.T) (*gamelift.Client, *client.Client) {
	t.Helper()
	t.Parallel()
	a := node.InProcess(t, nil)
	c := node.Client(a.URL())
	node.Must(c.CreateMatchmakingRuleSet(t.Context(), &gamelift.CreateMatchmakingRuleSetInput{Name: aws.String("windowed"), RuleSetBody: aws.String(windowed)}))(t)
	node.Must(c.CreateMatchmakingConfiguration(t.Context(), &gamelift.CreateMatchmakingConfigurationInput{
		Name: aws.String("duels"), RuleSetName: aws.String("windowed"), FlexMatchMode: types.FlexMatchModeStandalone,
		RequestTimeoutSeconds: aws.Int32(7200), AcceptanceRequired: aws.Bool(false),
	}))(t)
	for id, skill := range map[string]float64{"me": 100, "near": 190, "far": 400} {
		startDuel(t, c, id, skill)
	}
	return c, &client.Client{Endpoint: a.URL()}
}

// startDuel starts a ticket of a player with a skill.
func startDuel(t *testing.T, c *gamelift.Client, id string, skill float64) {
	t.Helper()
	node.Must(c.StartMatchmaking(t.Context(), &gamelift.StartMatchmakingInput{
		ConfigurationName: aws.String("duels"), TicketId: aws.String(id),
		Players: []types.Player{{PlayerId: aws.String("p-" + id), LatencyInMs: map[string]int32{"eu-west-1": 31}, PlayerAttributes: map[string]types.AttributeValue{"skill": {N: aws.Float64(skill)}}}},
	}))(t)
}

func TestTickets_Explain(t *testing.T) {
	c, look := waiting(t)
	var out bytes.Buffer
	view := &terminal.Terminal{Client: look, Out: &out}
	if err := view.ExplainTicket(t.Context(), "me"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"in duels; it times out at", "Ticket me of 1 player", "If nobody came or went it would be matched in ", ", at step 1, with 2 players",
		"Compared one by one with 2 other tickets: 0 could play with it", "Window", "batchDistance", "1 player short of the smallest match",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the explanation lacks %q:\n%s", want, out.String())
		}
	}
	e, _, err := look.Matchmaking().ExplainTicket(t.Context(), "me")
	if err != nil {
		t.Fatal(err)
	}
	if b := e.Waiting.Blocking; len(b) != 1 || b[0].Rule != "Window" || b[0].Tickets != 2 || *b[0].Nearest != 90 || *b[0].Limit != 50 {
		t.Errorf("blocking %+v", b)
	}

	out.Reset()
	view.JSON = true
	if err := view.ExplainMatchmaking(t.Context(), "duels"); err != nil {
		t.Fatal(err)
	}
	var told struct {
		Waiting, Pairs, Free, Left int
		Rules                      []struct {
			Rule  string
			Pairs int
		}
	}
	if err := json.Unmarshal(out.Bytes(), &told); err != nil {
		t.Fatal(err)
	}
	if told.Waiting != 3 || told.Pairs != 6 || told.Free != 0 || told.Left != 1 || len(told.Rules) != 1 || told.Rules[0].Rule != "Window" || told.Rules[0].Pairs != 6 {
		t.Errorf("overview %s", out.String())
	}
	if err := view.ExplainMatchmaking(t.Context(), "nosuch"); err == nil || !strings.Contains(err.Error(), "nosuch does not exist") {
		t.Errorf("of no configuration: %v", err)
	}

	node.Must(c.StopMatchmaking(t.Context(), &gamelift.StopMatchmakingInput{TicketId: aws.String("far")}))(t)
	out.Reset()
	view.JSON = false
	if err := view.ExplainTicket(t.Context(), "far"); err != nil || !strings.Contains(out.String(), "is CANCELLED: Cancelled by request; it took") {
		t.Errorf("of a cancelled ticket: %v %s", err, out.String())
	}
	for id, want := range map[string]string{
		"nosuch": `there is no ticket "nosuch"; 'muster tickets' lists them`,
		"naer":   `there is no ticket "naer" (did you mean "near"?); 'muster tickets' lists them`,
		"nea":    `there is no ticket "nea" (did you mean "near"?)`, // too short to stand for it
	} {
		if err := view.ExplainTicket(t.Context(), id); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("of %s: %v, want %s", id, err, want)
		}
	}
}

// Four or more characters with which no other id begins or ends name a ticket, whether it waits
// or has ended, and a placement.
func TestExplain_ShortIDs(t *testing.T) {
	c, look := waiting(t)
	for n, id := range []string{"79fd1c00-aaaa", "79fd2c00-bbbb", "79fd"} { // too far apart to play together
		startDuel(t, c, id, float64(5000*(n+1)))
	}
	node.Must(c.CreateGameSessionQueue(t.Context(), &gamelift.CreateGameSessionQueueInput{Name: aws.String("full"), TimeoutInSeconds: aws.Int32(600)}))(t)
	for _, id := range []string{"f538d200-cccc", "f538d211-dddd"} {
		node.Must(c.StartGameSessionPlacement(t.Context(), &gamelift.StartGameSessionPlacementInput{
			PlacementId: aws.String(id), GameSessionQueueName: aws.String("full"), MaximumPlayerSessionCount: aws.Int32(2),
		}))(t)
	}
	node.Must(c.StopMatchmaking(t.Context(), &gamelift.StopMatchmakingInput{TicketId: aws.String("79fd2c00-bbbb")}))(t)
	node.Must(c.StopGameSessionPlacement(t.Context(), &gamelift.StopGameSessionPlacementInput{PlacementId: aws.String("f538d211-dddd")}))(t)
	for text, want := range map[string]string{"79fd1": "79fd1c00-aaaa", "aaaa": "79fd1c00-aaaa", "bbbb": "79fd2c00-bbbb", "79fd": "79fd"} {
		if e, _, err := look.Matchmaking().ExplainTicket(t.Context(), text); err != nil || e.Ticket.ID != want {
			t.Errorf("%s is ticket %+v (%v), want %s", text, e, err, want)
		}
	}
	for text, want := range map[string]string{"f538d20": "f538d200-cccc", "cccc": "f538d200-cccc", "dddd": "f538d211-dddd"} {
		if e, _, err := look.Placements().Explain(t.Context(), text); err != nil || e.Placement.ID != want {
			t.Errorf("%s is placement %+v (%v), want %s", text, e, err, want)
		}
	}
	if _, _, err := look.Matchmaking().ExplainTicket(t.Context(), "c00-"); err == nil || !strings.Contains(err.Error(), `there is no ticket "c00-"`) {
		t.Errorf("in the middle of ids: %v", err)
	}
	if _, _, err := look.Matchmaking().ExplainTicket(t.Context(), "79fd2c00-b"); err != nil {
		t.Error(err)
	}
	if _, _, err := look.Placements().Explain(t.Context(), "f538"); err == nil || !strings.Contains(err.Error(), `"f538" stands for several placements: `) {
		t.Errorf("of several: %v", err)
	}
	if _, _, err := look.Placements().Explain(t.Context(), "nosuch"); err == nil || !strings.Contains(err.Error(), `there is no placement "nosuch"; the page of its queue in the console lists them`) {
		t.Errorf("of none: %v", err)
	}
}

// A ticket that has timed out is explained among those that wait now.
func TestTickets_ExplainTimedOut(t *testing.T) {
	c, look := waiting(t)
	node.Must(c.UpdateMatchmakingConfiguration(t.Context(), &gamelift.UpdateMatchmakingConfigurationInput{Name: aws.String("duels"), RequestTimeoutSeconds: aws.Int32(1)}))(t)
	startDuel(t, c, "late", 1000)
	var out bytes.Buffer
	view := &terminal.Terminal{Client: look, Out: &out}
	wait.For(t, "the ticket is TIMED_OUT", func() error {
		out.Reset()
		if err := view.ExplainTicket(t.Context(), "late"); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "TIMED_OUT") {
			return fmt.Errorf("the explanation is\n%s", &out)
		}
		return nil
	})
	for _, want := range []string{"is TIMED_OUT: Removed from matchmaking due to timing out; it took 1", "\n\nAt that age, among the tickets that wait now:\nTicket late of 1 player", "Window"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the explanation lacks %q:\n%s", want, out.String())
		}
	}
}

// The simulation can replay a trace of the tickets of a server.
func TestTickets_TraceIsPlayed(t *testing.T) {
	c, look := waiting(t)
	node.Must(c.StopMatchmaking(t.Context(), &gamelift.StopMatchmakingInput{TicketId: aws.String("far")}))(t)
	var out bytes.Buffer
	if err := look.Matchmaking().Trace(t.Context(), "duels", time.Time{}, &out); err != nil {
		t.Fatal(err)
	}
	played, err := trace.Read(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if len(played.Tickets) != 3 || played.Tickets[0].At != 0 {
		t.Fatalf("trace\n%s", out.String())
	}
	rs, err := ruleset.Parse(strings.Replace(windowed, `"maxDistance":50`, `"maxDistance":90`, 1))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := sim.ReadSpec([]byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := sim.Run(sim.Options{RuleSet: rs, Spec: spec, Trace: played, For: 3 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if want := (sim.Outcomes{Arrived: 3, Matched: 2, Cancelled: 1}); r.Tickets != want || r.Latency.P50 != 31 {
		t.Errorf("with a wider window %+v, latency %v; want %+v and 31", r.Tickets, r.Latency.P50, want)
	}
	if err := look.Matchmaking().Trace(t.Context(), "duels", time.Now().Add(time.Hour), &out); err != nil {
		t.Errorf("of a time to come: %v", err)
	}
	if err := look.Matchmaking().Trace(t.Context(), "nosuch", time.Time{}, &out); err == nil || !strings.Contains(err.Error(), "nosuch does not exist") {
		t.Errorf("of no configuration: %v", err)
	}
}
