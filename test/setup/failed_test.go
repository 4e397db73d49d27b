package setup

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/setup/live"
)

// stopped runs something until it reports a text, other than that it creates a fleet, and returns the
// last line of its error.
func (g *game) stopped(at string, do func(context.Context) error) string {
	g.Helper()
	ctx, stop := context.WithCancel(g.Context())
	defer stop()
	tell := g.Tell
	defer func() { g.Tell = tell }()
	g.Tell = func(text string) {
		tell(text)
		if strings.Contains(text, at) && !strings.HasSuffix(text, ": creating") {
			stop()
		}
	}
	err := do(ctx)
	if err == nil || ctx.Err() == nil {
		g.Fatalf("it did not stop at %q: %v\n%s", at, err, strings.Join(g.told, "\n"))
	}
	lines := strings.Split(err.Error(), "\n")
	return lines[len(lines)-1]
}

// A deployment that fails names the state of the fleets and the commands that go on or undo it,
// and those do.
func TestDeploy_FailureNamesCommands(t *testing.T) {
	t.Parallel()
	g := newGame(t)
	g.writes(1, home)
	g.file += queue
	g.apply()
	first := g.fleet("game")
	deploy := func(c live.Canary) func(context.Context) error {
		want, _, _ := read(t, g.Server, g.file, false)
		return func(ctx context.Context) error { return g.Deploy(ctx, want, "game", c) }
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	// Before anything leads to the next fleet.
	g.writes(2, home)
	g.file += queue
	g.says(g.stopped("fleet game (next): ", deploy(live.Canary{})), "State: fleet game serves as before; game (next) is beside it", "The same command goes on; 'muster deploy --rollback --fleet game' takes game (next) out of service again")
	must(g.Rollback(t.Context(), "game", nil))
	if g.fleet("game") != first {
		t.Error("after the rollback the fleet is another one")
	}

	// While a canary is watched, and while it gets the place.
	g.says(g.stopped("watching it for", deploy(live.Canary{Share: 0.5, For: time.Hour})), "its canary game (next) may get game sessions", "'muster deploy --promote --fleet game' gives the canary all; 'muster deploy --rollback --fleet game' takes")
	promote := func(ctx context.Context) error { return g.Promote(ctx, "game") }
	g.says(g.stopped("alias live leads to", promote), "some aliases and queues of fleet game may lead to game (next) already", "'muster deploy --promote --fleet game' goes on; 'muster deploy --rollback --fleet game' takes")
	must(promote(t.Context()))
	second := g.fleet("game")
	if second == first || g.fleet("game (previous)") != first {
		t.Error("after the promotion the fleet is the same")
	}

	// While the former fleet is emptied.
	g.writes(3, home)
	g.file += queue
	made := wait.Value(t, "a process is free", func() (*gamelift.CreateGameSessionOutput, error) {
		made, err := g.API.CreateGameSession(t.Context(), &gamelift.CreateGameSessionInput{FleetId: &second, MaximumPlayerSessionCount: aws.Int32(2)})
		var full *types.FleetCapacityExceededException
		if !errors.As(err, &full) {
			must(err)
		}
		return made, err
	})
	g.says(g.stopped("waiting for the end of 1 game session", deploy(live.Canary{})), "State: fleet game is the new one, and serves; game (previous) is still being emptied", "'muster deploy --drain --fleet game' goes on with that; 'muster deploy --rollback --fleet game' exchanges")
	_, err := g.API.TerminateGameSession(t.Context(), &gamelift.TerminateGameSessionInput{GameSessionId: made.GameSession.GameSessionId, TerminationMode: types.TerminationModeForceTerminate})
	must(err)
	must(g.Drain(t.Context(), "game"))
	g.sizes("game (previous)", "", 0, 0, 2)
	if g.fleet("game (previous)") != second {
		t.Error("the former fleet is another one")
	}
}
