package setup

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/cli/terminal"
	"github.com/musterhq/muster/setup/live"
)

// game is a server with a machine, and the file of a game whose build runs there.
type game struct {
	*testing.T
	*live.Server
	folder string
	file   string
	told   []string
}

const (
	home  = "    HomeRegion: {MinSize: 0, MaxSize: 2, DesiredInstances: 1}\n" // the capacity of most fleets
	queue = "GameSessionQueues: {main: {Destinations: [{Alias: live}]}}\n"    // leads to the file's fleet
)

// newGame starts a server with machines in the home region and the locations given.
func newGame(t *testing.T, locations ...string) *game {
	t.Helper()
	g := hostless(t, locations...)
	for _, l := range append(locations, "") {
		machine(t, g.Endpoint, l)
	}
	return g
}

// hostless starts a server with locations, and without machines.
func hostless(t *testing.T, locations ...string) *game {
	t.Helper()
	g := &game{T: t, Server: server(t), folder: t.TempDir()}
	g.Tell = func(text string) { g.told = append(g.told, text) }
	g.locate(locations...)
	return g
}

// locate creates locations.
func (g *game) locate(names ...string) {
	g.Helper()
	for _, name := range names {
		if _, err := g.API.CreateLocation(g.Context(), &gamelift.CreateLocationInput{LocationName: &name}); err != nil {
			g.Fatal(err)
		}
	}
}

// writes sets the file's fleet, whose processes do nothing, and makes the build another one.
func (g *game) writes(version int, capacities string) {
	g.Helper()
	g.put(fmt.Appendf(nil, "#!/bin/sh\n# %d\nexec sleep 600\n", version))
	g.file = `
Builds: {game: {OperatingSystem: AMAZON_LINUX_2023, Folder: ` + g.folder + `}}
Fleets:
  game:
    Build: game
    EC2InstanceType: c5.large
    RuntimeConfiguration: {ServerProcesses: [{LaunchPath: /local/game/game, Parameters: "{{.NoSDK}}", ConcurrentExecutions: 1}]}
` + capacities + `
Aliases: {live: {Fleet: game}}
`
}

// put writes the program of the build.
func (g *game) put(program []byte) {
	g.Helper()
	if err := os.WriteFile(filepath.Join(g.folder, "game"), program, 0o755); err != nil {
		g.Fatal(err)
	}
}

// apply makes the server what the file describes.
func (g *game) apply() {
	g.Helper()
	want, state, plan := read(g.T, g.Server, g.file, false)
	if err := g.Apply(g.Context(), want, state, plan); err != nil {
		g.Fatal(err)
	}
}

// deploy deploys the build of the file, and returns what that says.
func (g *game) deploy(c live.Canary) string {
	g.Helper()
	g.told = nil
	want, _, _ := read(g.T, g.Server, g.file, false)
	if err := g.Deploy(g.Context(), want, "game", c); err != nil {
		g.Fatalf("%v\n%s", err, strings.Join(g.told, "\n"))
	}
	return strings.Join(g.told, "\n")
}

// fleet returns the id of the fleet with a name.
func (g *game) fleet(name string) string {
	g.Helper()
	out, err := g.API.DescribeFleetAttributes(g.Context(), &gamelift.DescribeFleetAttributesInput{})
	if err != nil {
		g.Fatal(err)
	}
	for _, f := range out.FleetAttributes {
		if aws.ToString(f.Name) == name && f.Status != types.FleetStatusDeleting { // one that had the name before may not be gone yet
			return *f.FleetId
		}
	}
	g.Fatalf("there is no fleet %s", name)
	return ""
}

// sizes checks the limits and the desired instances of a location of a fleet; "" is the home region.
func (g *game) sizes(fleet, location string, low, desired, high int32) {
	g.Helper()
	id := g.fleet(fleet)
	out, err := g.API.DescribeFleetCapacity(g.Context(), &gamelift.DescribeFleetCapacityInput{FleetIds: []string{id}})
	if err != nil {
		g.Fatal(err)
	}
	c := out.FleetCapacity[0].InstanceCounts
	if location != "" {
		out, err := g.API.DescribeFleetLocationCapacity(g.Context(), &gamelift.DescribeFleetLocationCapacityInput{FleetId: &id, Location: &location})
		if err != nil {
			g.Fatal(err)
		}
		c = out.FleetCapacity.InstanceCounts
	}
	if *c.MINIMUM != low || *c.DESIRED != desired || *c.MAXIMUM != high {
		g.Errorf("fleet %s in %q has %d to %d and desires %d, want %d to %d and %d", fleet, location, *c.MINIMUM, *c.MAXIMUM, *c.DESIRED, low, high, desired)
	}
}

// operator changes a location of the fleet as an operator does.
func (g *game) operator(location string, low, desired, high int32) {
	g.Helper()
	id := g.fleet("game")
	in := &gamelift.UpdateFleetCapacityInput{FleetId: &id, MinSize: &low, DesiredInstances: &desired, MaxSize: &high}
	if location != "" {
		in.Location = &location
		g.until(func(t *terminal.Terminal, ctx context.Context) error {
			return t.Fleets(ctx, terminal.FleetFilter{ByLocation: true, Location: location, Status: "ACTIVE"})
		}, id)
	}
	if _, err := g.API.UpdateFleetCapacity(g.Context(), in); err != nil {
		g.Fatal(err)
	}
}

func (g *game) says(said string, parts ...string) {
	g.Helper()
	for _, part := range parts {
		if !strings.Contains(said, part) {
			g.Errorf("it does not say %q:\n%s", part, said)
		}
	}
}

// The next fleet of a deployment has the capacity that an operator gave the fleet, in each
// location; what has been changed in the file alone is as in the file. So has the fleet that comes
// back by a rollback.
func TestDeploy_KeepsCapacity(t *testing.T) {
	t.Parallel()
	g := newGame(t, "custom-lab")
	const first = "    HomeRegion: {MinSize: 0, MaxSize: 2, DesiredInstances: 1}\n    Locations: {custom-lab: {MinSize: 0, MaxSize: 1, DesiredInstances: 1}}"
	g.writes(1, first)
	g.apply()
	g.operator("", 1, 2, 4)
	g.operator("custom-lab", 0, 2, 2)

	g.writes(2, first)
	said := g.deploy(live.Canary{})
	g.sizes("game", "", 1, 2, 4)
	g.sizes("game", "custom-lab", 0, 2, 2)
	g.says(said, "fleet game: HomeRegion.MaxSize stays 4: it was changed at the fleet, and has not been changed in the file (2); 'muster apply' sets the file's", "Locations.custom-lab.DesiredInstances stays 2: ")

	// The file has changed what the operator has not.
	g.writes(3, "    HomeRegion: {MinSize: 0, MaxSize: 2, DesiredInstances: 1}\n    Locations: {custom-lab: {MinSize: 1, MaxSize: 3, DesiredInstances: 1}}")
	said = g.deploy(live.Canary{})
	g.sizes("game", "", 1, 2, 4)
	g.sizes("game", "custom-lab", 1, 2, 2)
	g.says(said, "fleet game: Locations.custom-lab.MinSize becomes 1: it was changed in the file from 0, and has not been changed at the fleet", "Locations.custom-lab.MaxSize stays 2: it was changed at the fleet, from 1, and in the file, to 3")

	g.operator("", 1, 3, 5)
	if err := g.Rollback(t.Context(), "game", nil); err != nil {
		t.Fatal(err)
	}
	g.sizes("game", "", 1, 3, 5)
	g.sizes("game", "custom-lab", 1, 2, 2)

	// A plan shows what was changed at the fleet, and is undone.
	g.writes(2, "    HomeRegion: {MinSize: 0, MaxSize: 3, DesiredInstances: 2}\n    Locations: {custom-lab: {MinSize: 0, MaxSize: 1, DesiredInstances: 0}}")
	_, _, plan := read(t, g.Server, g.file, false)
	var shown strings.Builder
	terminal.WritePlan(&shown, plan)
	g.says(shown.String(),
		"HomeRegion.MaxSize: 5 → 3 (it was changed at the fleet, too, from 2)\n",
		"HomeRegion.MinSize: 1 → 0 (it was changed at the fleet from 0; to keep 1, write that into the file)\n",
		"Locations.custom-lab.MinSize: 1 → 0\n",
	)

	// What is applied is the file's, and what has not been changed since is the file's from then on.
	g.writes(2, "    HomeRegion: {MinSize: 0, MaxSize: 3, DesiredInstances: 2}\n    Locations: {custom-lab: {MinSize: 0, MaxSize: 1, DesiredInstances: 0}}")
	g.apply()
	g.sizes("game", "", 0, 2, 3)
	g.writes(4, "    HomeRegion: {MinSize: 0, MaxSize: 2, DesiredInstances: 1}\n    Locations: {custom-lab: {MinSize: 0, MaxSize: 1, DesiredInstances: 0}}")
	said = g.deploy(live.Canary{})
	g.sizes("game", "", 0, 1, 2)
	g.sizes("game", "custom-lab", 0, 0, 1)
	g.says(said, "HomeRegion.DesiredInstances becomes 1: it was changed in the file from 2")
	g.done()
}

// A canary stays in the queue while the file is applied, even with changes of the queue.
func TestApply_LeavesCanary(t *testing.T) {
	t.Parallel()
	g := newGame(t)
	queue := func(seconds int) {
		g.file += fmt.Sprintf("GameSessionQueues: {main: {Destinations: [{Alias: live}], TimeoutInSeconds: %d}}\n", seconds)
	}
	g.writes(1, home)
	queue(60)
	g.apply()
	g.writes(2, home)
	queue(60)
	g.deploy(live.Canary{Share: 0.5})
	leads := func(want ...string) {
		t.Helper()
		out, err := g.API.DescribeGameSessionQueues(t.Context(), &gamelift.DescribeGameSessionQueuesInput{})
		if err != nil {
			t.Fatal(err)
		}
		all := out.GameSessionQueues[0].Destinations
		for i := range max(len(all), len(want)) {
			if len(all) != len(want) || !strings.Contains(*all[i].DestinationArn, want[i]) {
				t.Fatalf("the queue leads to %+v, want %v", all, want)
			}
		}
	}
	leads(g.fleet("game (next)"), ":alias/")

	g.writes(1, home) // what serves
	queue(90)
	g.apply()
	leads(g.fleet("game (next)"), ":alias/")
	g.done()
	if err := g.Promote(t.Context(), "game"); err != nil {
		t.Fatal(err)
	}
	leads(":alias/")
}

// A canary has its share of what the fleet has; promoted, it has what the fleet has then, and what
// its file has changed.
func TestDeploy_CanaryKeepsCapacity(t *testing.T) {
	t.Parallel()
	g := newGame(t)
	g.writes(1, "    HomeRegion: {MinSize: 0, MaxSize: 2, DesiredInstances: 1}")
	g.file += queue
	g.apply()
	g.operator("", 0, 3, 4)

	g.writes(2, "    HomeRegion: {MinSize: 1, MaxSize: 2, DesiredInstances: 1}")
	said := g.deploy(live.Canary{Share: 0.5})
	g.says(said, "MinSize becomes 1: ", "is ACTIVE with 2 instances beside 3")
	g.sizes("game (next)", "", 0, 2, 2)
	g.operator("", 0, 4, 5)
	if err := g.Promote(t.Context(), "game"); err != nil {
		t.Fatal(err)
	}
	g.sizes("game", "", 1, 4, 5)
}
