package containers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/test/node"
)

// A container fleet is created, changed, given another image and deleted by a file. What the server
// exports is the same set-up.
func TestApply_ContainerFleet(t *testing.T) {
	w := build(startDocker(t))
	dir := t.TempDir()
	file := filepath.Join(dir, "muster.yaml")
	run := func(args []string) (string, error) {
		cmd := exec.CommandContext(t.Context(), node.Path(t), args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "MUSTER_ENDPOINT="+w.server.URL, "AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=any")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	muster := func(args ...string) string {
		t.Helper()
		out, err := run(args)
		if err != nil {
			t.Fatalf("muster %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return out
	}
	fails := func(args ...string) string {
		t.Helper()
		out, err := run(args)
		if err == nil {
			t.Fatalf("muster %s does not fail:\n%s", strings.Join(args, " "), out)
		}
		return out
	}
	says := func(text string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("it does not say %q:\n%s", part, text)
			}
		}
	}
	writes := func(image, fleet string) {
		t.Helper()
		text := fmt.Sprintf(`
Locations: {custom-none: {}, custom-later: {}}
ContainerGroupDefinitions:
  arena:
    OperatingSystem: AMAZON_LINUX_2023
    TotalMemoryLimitMebibytes: 128
    TotalVcpuLimit: 0.25
    GameServerContainerDefinition:
      ContainerName: game
      ImageUri: %s
      ServerSdkVersion: 5.5.0
      PortConfiguration: {ContainerPortRanges: [{FromPort: 7777, ToPort: 7777, Protocol: UDP}]}
ContainerFleets:
  arena:
    GameServerContainerGroupDefinition: arena
    FleetRoleArn: arn:aws:iam::000000000000:role/fleet
    InstanceType: c5.large
    GameServerContainerGroupsPerInstance: 2
%s
Aliases: {live: {ContainerFleet: arena}}
GameSessionQueues: {main: {Destinations: [{Alias: live}], TimeoutInSeconds: 60}}
`, image, fleet)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const same = "The server is as the file describes it."
	first := w.push("/arena", "server", "--port", "7777", "--silent", "1m")

	// One instance in the home region; a location without needs no machine.
	writes(first, "    HomeRegion: {MinSize: 0, MaxSize: 2, DesiredInstances: 1}\n    Locations: {custom-none: {MinSize: 0, MaxSize: 2, DesiredInstances: 0}}")
	says(muster("apply", "--yes"), "container fleet arena: creating", "container fleet arena: created", "alias live: created")
	says(muster("apply", "--drift"), same)
	fleets, err := w.c.ListContainerFleets(t.Context(), &gamelift.ListContainerFleetsInput{})
	if err != nil || len(fleets.ContainerFleets) != 1 {
		t.Fatalf("%+v, %v", fleets, err)
	}
	id := *fleets.ContainerFleets[0].FleetId
	w.idle(id, 2)
	if tags := muster("export"); strings.Contains(tags, "muster:") {
		t.Errorf("the export has tags of Muster's own:\n%s", tags)
	}

	// What an operator has changed is marked, and undone; a location is added.
	if _, err := w.c.UpdateFleetCapacity(t.Context(), &gamelift.UpdateFleetCapacityInput{FleetId: &id, MaxSize: aws.Int32(5)}); err != nil {
		t.Fatal(err)
	}
	writes(first, "    HomeRegion: {MinSize: 0, MaxSize: 2, DesiredInstances: 1}\n    Locations: {custom-later: {MinSize: 0, MaxSize: 1, DesiredInstances: 0}}\n    Description: for duels")
	says(muster("apply", "--yes"), "HomeRegion.MaxSize: 5 → 2 (it was changed at the fleet from 2; to keep 5, write that into the file)", "container fleet arena: updated")
	says(muster("apply", "--drift"), same)

	// Another image is rolled out by the server, and waited for.
	second := w.push("/arena", "server", "--port", "7777", "--silent", "2m")
	writes(second, "")
	muster("apply", "--yes")
	f := w.fleet(id)
	if f.Status != types.ContainerFleetStatusActive || !strings.HasSuffix(*f.GameServerContainerGroupDefinitionArn, ":2") {
		t.Errorf("after the command the fleet is %s with %s", f.Status, *f.GameServerContainerGroupDefinitionArn)
	}
	says(muster("apply", "--drift"), same)

	// One that does not work is waited for, too, and the server's own deployment ends without success.
	writes(w.push("/arena", "no-such-command"), "")
	failed := fails("apply", "--yes")
	says(failed, "its deployment is ROLLBACK_COMPLETE: ", "is IMPAIRED in us-east-1: ", "exited with code 2", "It runs what it ran before; remove the cause, and run the command again")
	third := w.push("/arena", "server", "--port", "7777", "--silent", "3m")
	writes(third, "")
	muster("apply", "--yes")
	says(muster("apply", "--drift"), same)

	// The export is the set-up, as a file.
	muster("export", "--out", "exported.yaml")
	says(muster("apply", "-f", "exported.yaml", "--drift", "--delete"), same)

	if err := os.WriteFile(file, []byte("Locations: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	muster("apply", "--yes", "--delete")
	says(muster("apply", "--drift", "--delete"), same)
}
