package setup

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/setup/live"
)

// Locations without a machine are waited for together and named in one line; one with a machine gets
// its capacity before they are ACTIVE.
func TestApply_LocationsWait(t *testing.T) {
	t.Parallel()
	g := newGame(t, "custom-z")
	g.locate("custom-a", "custom-b")
	const capacity = ": {MinSize: 0, MaxSize: 3, DesiredInstances: 2}"
	g.writes(1, "    HomeRegion: {MaxSize: 1}\n    Locations: {custom-a"+capacity+", custom-b"+capacity+", custom-z"+capacity+"}")
	g.stopped("fleet game: waiting for custom-a, custom-b to be ACTIVE", func(ctx context.Context) error {
		want, state, plan := read(t, g.Server, g.file, false)
		return g.Apply(ctx, want, state, plan)
	})
	g.sizes("game", "custom-z", 0, 2, 3)
	g.sizes("game", "custom-a", 0, 1, 1)

	for _, name := range []string{"custom-b", "custom-a"} {
		machine(t, g.Endpoint, name)
	}
	g.told = nil
	g.apply()
	g.sizes("game", "custom-a", 0, 2, 3)
	g.sizes("game", "custom-b", 0, 2, 3)
	if said := strings.Join(g.told, "\n"); strings.Contains(said, "custom-z") {
		t.Errorf("a location that has its capacity is waited for:\n%s", said)
	}
}

// A location in which the file has no instances needs no host, whether it is new in a fleet that is there or
// all of a new fleet's are so, of which one has to be ACTIVE first.
func TestApply_UnusedNeedsNoHost(t *testing.T) {
	t.Parallel()
	g := newGame(t, "custom-lab")
	g.locate("custom-a", "custom-b")
	const none = "{MinSize: 0, MaxSize: 3, DesiredInstances: 0}"
	g.writes(1, "    HomeRegion: "+none+"\n    Locations: {custom-lab: "+none+", custom-a: "+none+"}")
	g.apply()
	g.sizes("game", "", 0, 0, 3)
	g.sizes("game", "custom-a", 0, 0, 3)
	g.writes(1, "    HomeRegion: "+none+"\n    Locations: {custom-lab: {MinSize: 0, MaxSize: 3, DesiredInstances: 1}, custom-b: "+none+"}")
	g.apply()
	g.sizes("game", "custom-lab", 0, 1, 3)
	g.sizes("game", "custom-b", 0, 0, 3)
	g.done()
}

// No event asks for a host in a location in which the file has no instances: neither while the fleet is
// not ACTIVE and the location's capacity cannot be set, nor later, nor in the next fleet of a deployment.
// In others one does.
func TestApply_NoHostIsAskedForUnused(t *testing.T) {
	t.Parallel()
	g := hostless(t, "custom-lab", "custom-none")
	machine(t, g.Endpoint, "custom-lab")
	const capacity = "    HomeRegion: {MinSize: 0, MaxSize: 2, DesiredInstances: 0}\n    Locations: {custom-lab: {MinSize: 0, MaxSize: 2, DesiredInstances: 1}, custom-none: {MinSize: 0, MaxSize: 1, DesiredInstances: 0}}"
	asked := func(fleet string) (all []string) {
		t.Helper()
		err := (&client.Client{Endpoint: g.Endpoint}).Events(t.Context(), client.EventQuery{FleetID: fleet, Last: 1000}, func(e client.Event) error {
			if strings.HasPrefix(e.Message, "Waiting for a host in ") {
				all = append(all, e.Message)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	g.writes(1, capacity)
	g.apply()
	first := g.fleet("game")
	g.sizes("game", "", 0, 0, 2)
	g.sizes("game", "custom-none", 0, 0, 1)
	g.writes(2, capacity)
	g.deploy(live.Canary{})
	second := g.fleet("game")
	if second == first {
		t.Fatal("the build was not deployed")
	}
	for _, fleet := range []string{first, second} {
		if all := asked(fleet); len(all) > 0 {
			t.Errorf("fleet %s: %q", fleet, all)
		}
	}
	g.done()

	// Once its capacity has been set, it is a location as any other.
	g.operator("", 0, 1, 2)
	g.until(fleets, "us-east-1: no host has joined location us-east-1")
	if all := asked(second); len(all) != 1 || !strings.HasPrefix(all[0], "Waiting for a host in us-east-1 to run 1 more") {
		t.Errorf("asked for an instance it says %q", all)
	}
	builds, err := g.API.ListBuilds(t.Context(), &gamelift.ListBuildsInput{})
	if err != nil || len(builds.Builds) == 0 {
		t.Fatal(builds, err)
	}
	made, err := g.API.CreateFleet(t.Context(), &gamelift.CreateFleetInput{Name: new("other"), BuildId: builds.Builds[0].BuildId, EC2InstanceType: types.EC2InstanceTypeC5Large, RuntimeConfiguration: &types.RuntimeConfiguration{
		ServerProcesses: []types.ServerProcess{{LaunchPath: new("/local/game/game"), ConcurrentExecutions: new(int32(1))}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	g.until(fleets, "its first instance makes the fleet ACTIVE")
	if all := asked(*made.FleetAttributes.FleetId); len(all) != 1 {
		t.Errorf("a fleet without a capacity asks for a host in %q", all)
	}
}
