package setup

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/setup/live"
	"github.com/musterhq/muster/test/node"
)

// killed returns the server as a command sees it that is killed at a change; at 0 it is not.
func (g *game) killed(at int, carried bool) *live.Server {
	s := *g.Server
	if at > 0 {
		s.API = node.Client(s.Endpoint, func(o *gamelift.Options) {
			o.Retryer, o.HTTPClient = aws.NopRetryer{}, node.Killed(at, carried)
		})
	}
	return &s
}

// command runs a command for the present file.
func (g *game) command(s *live.Server, name string) error {
	g.Helper()
	want, state, plan := read(g.T, g.Server, g.file, false)
	switch name {
	case "apply":
		return s.Apply(g.Context(), want, state, plan)
	case "deploy":
		return s.Deploy(g.Context(), want, "game", live.Canary{})
	case "canary":
		return s.Deploy(g.Context(), want, "game", live.Canary{Share: 0.5})
	case "promote":
		return s.Promote(g.Context(), "game")
	case "rollback":
		return s.Rollback(g.Context(), "game", want)
	case "drain":
		return s.Drain(g.Context(), "game")
	}
	g.Fatalf("there is no command %s", name)
	return nil
}

// advised are the commands that go on after a failure, as its last line says.
var advised = regexp.MustCompile(`'muster deploy --([a-z]+) --fleet game'`)

// goesOn returns what the error of a command that was killed says to do, "" if there is nothing to do.
func (g *game) goesOn(name string, err error) string {
	g.Helper()
	_, state, said := strings.Cut(err.Error(), "\nState: ")
	command := advised.FindStringSubmatch(state)
	switch {
	case name == "apply" && !said, strings.Contains(state, "he same command goes on"), strings.Contains(state, "run the same command again"):
		return name
	case strings.Contains(state, "There is nothing to undo"):
		return ""
	case command != nil:
		return command[1]
	}
	g.Fatalf("after %s nothing says what to do: %v", name, err)
	return ""
}

// serving returns an error if the alias leads to a fleet that serves nobody.
func (g *game) serving(ctx context.Context) error {
	to := func() (string, error) {
		out, err := g.API.ListAliases(ctx, &gamelift.ListAliasesInput{})
		if err != nil || len(out.Aliases) != 1 {
			return "", fmt.Errorf("no alias: %w", err)
		}
		return aws.ToString(out.Aliases[0].RoutingStrategy.FleetId), nil
	}
	id, err := to()
	if err != nil {
		return err
	}
	out, err := g.API.DescribeFleetCapacity(ctx, &gamelift.DescribeFleetCapacityInput{FleetIds: []string{id}})
	if err != nil || len(out.FleetCapacity) == 1 && *out.FleetCapacity[0].InstanceCounts.ACTIVE > 0 {
		return err
	}
	lab, err := g.API.DescribeFleetLocationCapacity(ctx, &gamelift.DescribeFleetLocationCapacityInput{FleetId: &id, Location: aws.String("custom-lab")})
	if err == nil && *lab.FleetCapacity.InstanceCounts.ACTIVE > 0 {
		return nil
	}
	if now, err := to(); err != nil || now != id {
		return err // it has been led to another one since
	}
	return fmt.Errorf("the alias leads to fleet %s, which has no ACTIVE instance", id)
}

// Random commands follow each other, and many are killed at one of their changes. What a killed
// command says goes on does. At each time the alias leads to a fleet with game servers, and at the end
// the file's build serves, with nothing left to do.
func TestDeploy_Sequences(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("the seed is %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	g := newGame(t, "custom-lab")
	file := func() {
		capacities := fmt.Sprintf("    HomeRegion: {MinSize: 1, MaxSize: 4, DesiredInstances: %d}\n", 1+random.IntN(2))
		if random.IntN(2) == 0 {
			capacities += fmt.Sprintf("    Locations: {custom-lab: {MinSize: 0, MaxSize: 2, DesiredInstances: %d}}\n", random.IntN(2))
		} else {
			capacities += "    Locations: {}\n"
		}
		g.writes(1+random.IntN(3), capacities)
		g.file += queue
	}
	file()
	g.apply()
	wait.Until(g, "the new fleet serves", func() bool { return g.serving(t.Context()) == nil }) // its instances start after it is ACTIVE

	watching, stop := context.WithCancel(t.Context())
	watched := make(chan error, 1)
	go func() {
		var err error
		for look := time.Tick(10 * time.Millisecond); err == nil && watching.Err() == nil; <-look {
			err = g.serving(watching)
		}
		if watching.Err() != nil {
			err = nil
		}
		watched <- err
	}()
	var done []string
	run := func(name string, at int, carried bool) error {
		t.Helper()
		err := g.command(g.killed(at, carried), name)
		what := name
		if at > 0 {
			what += fmt.Sprintf(" killed at %d, carried out %v", at, carried)
		}
		done = append(done, fmt.Sprintf("%s: %v", what, err))
		select {
		case err := <-watched:
			t.Fatalf("%v\n%s", err, strings.Join(done, "\n"))
		default:
		}
		return err
	}
	commands := []string{"apply", "deploy", "deploy", "canary", "promote", "rollback", "drain"}
	for range 12 {
		if random.IntN(3) == 0 {
			file()
		}
		if random.IntN(4) == 0 {
			g.operator("", 1, 1+random.Int32N(3), 3+random.Int32N(2))
		}
		name, at := commands[random.IntN(len(commands))], 0
		if random.IntN(2) == 0 {
			at = 1 + random.IntN(12)
		}
		err := run(name, at, random.IntN(2) == 0)
		for tries := 0; err != nil && errors.Is(err, node.ErrKilled); tries++ {
			if name = g.goesOn(name, err); name == "" {
				err = nil
				break
			}
			if err = run(name, 0, false); tries > 3 {
				t.Fatalf("it does not end:\n%s", strings.Join(done, "\n"))
			}
		}
		if err != nil && !strings.Contains(err.Error(), "there is no fleet game (") { // nothing to promote, or to go back to
			t.Fatalf("%v\n%s", err, strings.Join(done, "\n"))
		}
	}
	if err := run("deploy", 0, false); err != nil {
		t.Fatal(err, "\n", strings.Join(done, "\n"))
	}
	if err := run("apply", 0, false); err != nil {
		t.Fatal(err, "\n", strings.Join(done, "\n"))
	}
	stop()
	if err := <-watched; err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(done, "\n"))
	}
	if _, _, plan := read(t, g.Server, g.file, false); plan.Changes() {
		t.Errorf("there is still %+v to do\n%s", plan, strings.Join(done, "\n"))
	}
	d, err := g.Deployment(t.Context(), "game")
	if err != nil || d.Current == nil || d.Next != nil {
		t.Errorf("it is %+v, %v\n%s", d, err, strings.Join(done, "\n"))
	}
}
