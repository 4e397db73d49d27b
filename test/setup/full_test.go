package setup

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
	"github.com/musterhq/muster/internal/wait"
)

// shows returns what a command shows.
func (g *game) shows(command func(*terminal.Terminal, context.Context) error) string {
	g.Helper()
	var out bytes.Buffer
	if err := command(&terminal.Terminal{Client: &client.Client{Endpoint: g.Endpoint}, Out: &out}, g.Context()); err != nil {
		g.Fatal(err)
	}
	return out.String()
}

// until waits until a command shows each of the parts, and returns what it shows.
func (g *game) until(command func(*terminal.Terminal, context.Context) error, parts ...string) string {
	g.Helper()
	return wait.Value(g, fmt.Sprintf("the command shows %q", parts), func() (string, error) {
		said := g.shows(command)
		for _, part := range parts {
			if !strings.Contains(said, part) {
				return "", fmt.Errorf("it does not show %q:\n%s", part, said)
			}
		}
		return said, nil
	})
}

func fleets(t *terminal.Terminal, ctx context.Context) error {
	return t.Fleets(ctx, terminal.FleetFilter{})
}

func explain(placement string) func(*terminal.Terminal, context.Context) error {
	return func(t *terminal.Terminal, ctx context.Context) error { return t.Explain(ctx, placement) }
}

func explainTicket(ticket string) func(*terminal.Terminal, context.Context) error {
	return func(t *terminal.Terminal, ctx context.Context) error { return t.ExplainTicket(ctx, ticket) }
}

// proposed is a command that a text proposes.
var proposed = regexp.MustCompile(`'muster fleets scale (\S+) --location (\S+) --desired (\d+)(?: --max (\d+))?'`)

// A fleet whose game servers all have game sessions is named where that is the reason why something
// waits, with what to do; that is done, and nothing waits any more.
func TestFull(t *testing.T) {
	t.Parallel()
	g := newGame(t)
	g.writes(1, "    HomeRegion: {MinSize: 0, MaxSize: 1, DesiredInstances: 1}")
	g.file += `
GameSessionQueues: {main: {Destinations: [{Alias: live}], TimeoutInSeconds: 600}}
MatchmakingRuleSets: {solo: {RuleSetBody: '{"name": "solo", "ruleLanguageVersion": "1.0", "teams": [{"name": "all", "minPlayers": 1, "maxPlayers": 1}]}'}}
MatchmakingConfigurations: {solo: {RuleSet: solo, GameSessionQueues: [main], RequestTimeoutSeconds: 600, AcceptanceRequired: false}}
`
	g.apply()
	id := g.fleet("game")
	place := func(name string) {
		t.Helper()
		if _, err := g.API.StartGameSessionPlacement(t.Context(), &gamelift.StartGameSessionPlacementInput{PlacementId: &name, GameSessionQueueName: new("main"), MaximumPlayerSessionCount: new(int32(1))}); err != nil {
			t.Fatal(err)
		}
	}
	obey := func(said string) {
		t.Helper()
		command := proposed.FindStringSubmatch(said)
		if command == nil {
			t.Fatalf("no command is proposed:\n%s", said)
		}
		s := terminal.Scale{Location: command[2]}
		for i, n := range []**int{&s.Desired, &s.Max} {
			if text := command[3+i]; text != "" {
				value, err := strconv.Atoi(text)
				if err != nil {
					t.Fatal(err)
				}
				*n = &value
			}
		}
		if _, err := g.scale(command[1], s, false); err != nil {
			t.Fatal(err)
		}
	}
	if said := g.shows(fleets); strings.Contains(said, "full") {
		t.Errorf("it is full without game sessions:\n%s", said)
	}

	place("first")
	g.until(explain("first"), "is FULFILLED")
	place("second")
	const full = "the only game server has a game session; it cannot grow, because DesiredInstances is at MaxSize, 1: 'muster fleets scale "
	g.until(fleets, "  full: "+full+id+" --location us-east-1 --desired 2 --max 2' adds an instance\n")
	g.until(func(t *terminal.Terminal, ctx context.Context) error { return t.Status(ctx) }, "  full: "+full)
	said := g.until(explain("second"), "is PENDING", "NO_FREE_PROCESS  no free game server process; "+full)
	obey(said)
	g.until(explain("second"), "is FULFILLED")

	// With a policy it may grow by itself.
	if _, err := g.API.PutScalingPolicy(t.Context(), &gamelift.PutScalingPolicyInput{
		FleetId: &id, Name: new("keep-20"), PolicyType: types.PolicyTypeTargetBased, MetricName: types.MetricNamePercentAvailableGameSessions, TargetConfiguration: &types.TargetConfiguration{TargetValue: new(20.0)},
	}); err != nil {
		t.Fatal(err)
	}
	g.operator("", 0, 2, 3)
	if _, err := g.API.StartMatchmaking(t.Context(), &gamelift.StartMatchmakingInput{ConfigurationName: new("solo"), TicketId: new("third"), Players: []types.Player{{PlayerId: new("p")}}}); err != nil {
		t.Fatal(err)
	}
	said = g.until(explainTicket("third"), "Ticket third in solo is PLACING", "in queue main is PENDING",
		"NO_FREE_PROCESS  no free game server process; all 2 game servers have game sessions; scaling policies (keep-20) may add instances, up to MaxSize, 3: 'muster fleets scale ")
	obey(said)
	g.until(explainTicket("third"), "is COMPLETED")

	// A location that is to have nothing says that.
	g.operator("", 0, 0, 0)
	place("fourth")
	g.until(explain("fourth"), "the location is to have no instances (DesiredInstances is 0): 'muster fleets scale "+id+" --location us-east-1 --desired 1 --max 1' adds one")
}

// The list of fleets and the page of one have the last crash of a game server, with its event.
func TestLastCrash(t *testing.T) {
	t.Parallel()
	g := newGame(t)
	g.writes(1, "")
	g.file = strings.Replace(g.file, `Parameters: "{{.NoSDK}}", `, "", 1) // it does not call InitSDK
	g.put([]byte("#!/bin/sh\necho the map is missing >&2\nexit 3\n"))
	want, state, plan := read(t, g.Server, g.file, false)
	ctx, stop := context.WithCancel(t.Context())
	applied := make(chan error, 1)
	go func() { applied <- g.Apply(ctx, want, state, plan) }()
	const crash = " ago: SERVER_PROCESS_CRASHED: "
	said := g.until(fleets, "last crash ", crash, "exited with code 3", "the map is missing")
	t.Log(said)
	stop()
	if err := <-applied; err == nil {
		t.Error("the fleet is ACTIVE")
	}
	said = g.until(func(t *terminal.Terminal, ctx context.Context) error { return t.Fleet(ctx, "game") }, "\nLast crash in us-east-1, ", crash, "exited with code 3")
	t.Log(said)
	all, err := (&client.Client{Endpoint: g.Endpoint}).Fleets(t.Context())
	if err != nil || len(all) != 1 || all[0].Locations[0].LastCrash == nil || all[0].Locations[0].LastCrash.Code != "SERVER_PROCESS_CRASHED" {
		t.Errorf("%+v, %v", all, err)
	}
}
