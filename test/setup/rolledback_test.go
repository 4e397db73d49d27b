package setup

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/cli/terminal"
	"github.com/musterhq/muster/setup"
	"github.com/musterhq/muster/setup/live"
	"github.com/musterhq/muster/test/node"
)

// describes returns what the file describes.
func (g *game) describes() *setup.Setup {
	g.Helper()
	want, _, _ := read(g.T, g.Server, g.file, false)
	return want
}

// rollback takes the last deployment back, and returns what that says.
func (g *game) rollback() string {
	g.Helper()
	g.told = nil
	if err := g.Rollback(g.Context(), "game", g.describes()); err != nil {
		g.Fatalf("%v\n%s", err, strings.Join(g.told, "\n"))
	}
	return strings.Join(g.told, "\n")
}

// comesBack reports whether a plan says that a build comes back to the fleet that was rolled back.
func (g *game) comesBack() bool {
	g.Helper()
	_, _, plan := read(g.T, g.Server, g.file, false)
	var shown strings.Builder
	terminal.WritePlan(&shown, plan)
	back := slices.ContainsFunc(plan, func(a setup.Action) bool {
		return a.Kind == setup.FleetKind && a.Name == "game" && a.Op == setup.Replace && !a.RolledBack.IsZero()
	})
	if says := strings.Contains(shown.String(), "(its build was rolled back on "); says != back {
		g.Errorf("the build comes back: %v, and the plan shows\n%s", back, &shown)
	}
	return back
}

// replaces changes a text of the file.
func (g *game) replaces(from, to string) {
	g.Helper()
	if strings.Count(g.file, from) != 1 {
		g.Fatalf("the file does not have %q once:\n%s", from, g.file)
	}
	g.file = strings.Replace(g.file, from, to, 1)
}

// version changes the Version of the file's build.
func (g *game) version(from, to string) {
	g.Helper()
	changed := strings.Replace(g.file, from+"OperatingSystem:", to+"OperatingSystem:", 1)
	if changed == g.file {
		g.Fatalf("the file has no build %q:\n%s", from, g.file)
	}
	g.file = changed
}

// lists checks the lines that a rollback lists under a heading that begins so.
func (g *game) lists(said, heading string, want ...string) {
	g.Helper()
	_, rest, _ := strings.Cut(said, heading)
	_, rest, _ = strings.Cut(rest, "\n")
	var got []string
	for line := range strings.Lines(rest) {
		line, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "  ")
		if !is {
			break
		}
		got = append(got, line)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		g.Errorf("under %q (-want +got):\n%s", heading, diff)
	}
}

// done checks that nothing is left to do for the file.
func (g *game) done() {
	g.Helper()
	if _, _, plan := read(g.T, g.Server, g.file, false); plan.Changes() {
		g.Errorf("there is still %+v to do", plan)
	}
}

// built returns the program of the build.
func (g *game) built() []byte {
	g.Helper()
	text, err := os.ReadFile(filepath.Join(g.folder, "game"))
	if err != nil {
		g.Fatal(err)
	}
	return text
}

const (
	stillDescribes = "The file does not describe what serves now: the next 'muster apply' or 'muster deploy' makes the fleet what the file says, unless you change this first:"
	capacityStays  = "The capacity is what the fleet had before the rollback. The next 'muster apply' sets that of the file, unless you change this first:"
)

// After a rollback the file still describes what was taken out. The rollback says what to
// change, plans and deployments say that the build was rolled back, and a build that follows is not
// marked, nor one that has been accepted after all.
func TestRollback_FileStillNamesIt(t *testing.T) {
	t.Parallel()
	g := newGame(t)
	const before = home + "    Description: old\n    Tags: {mode: duel, season: one}\n    EC2InboundPermissions: [{FromPort: 7000, ToPort: 7100, IpRange: 0.0.0.0/0, Protocol: UDP}]"
	const after = home + "    Description: new\n    Tags: {mode: team, map: big}\n    EC2InboundPermissions: []\n    NewGameSessionProtectionPolicy: FullProtection\n    ResourceCreationLimitPolicy: {NewGameSessionsPerCreator: 3, PolicyPeriodInMinutes: 5}"
	g.writes(1, before)
	g.version("", "Version: 1, ")
	g.apply()
	first, good := g.file, g.built()

	g.writes(2, after)
	g.version("", "Version: 2, Tags: {from: branch}, ")
	g.replaces("ConcurrentExecutions: 1", "ConcurrentExecutions: 2")
	g.replaces("RuntimeConfiguration: {", "RuntimeConfiguration: {GameSessionActivationTimeoutSeconds: 60, ")
	g.replaces("EC2InstanceType: c5.large", "EC2InstanceType: c5.xlarge")
	if g.comesBack() {
		t.Error("a new build counts as rolled back")
	}
	g.deploy(live.Canary{})
	g.done()
	g.operator("", 0, 1, 3)
	said := g.rollback()
	g.says(said, "fleet game: runs build game, version 1, again")
	g.lists(said, stillDescribes,
		"Builds.game.Version: the file has 2, and the fleet runs 1: write 1",
		"Builds.game.Folder: the files in "+g.folder+" are not those of the build that the fleet runs: put those back",
		"Builds.game.Tags.from: the file has branch, and the build that the fleet runs has none: leave it out",
		"Fleets.game.Description: the file has new, and the fleet has old: write old",
		"Fleets.game.EC2InstanceType: the file has c5.xlarge, and the fleet has c5.large: write c5.large",
		"Fleets.game.EC2InboundPermissions: the file has [], and the fleet has [{FromPort: 7000, IpRange: 0.0.0.0/0, Protocol: UDP, ToPort: 7100}]: write [{FromPort: 7000, IpRange: 0.0.0.0/0, Protocol: UDP, ToPort: 7100}]",
		"Fleets.game.RuntimeConfiguration.GameSessionActivationTimeoutSeconds: the file has 60, and the fleet has 300: write 300",
		"Fleets.game.RuntimeConfiguration.ServerProcesses[0].ConcurrentExecutions: the file has 2, and the fleet has 1: write 1",
		"Fleets.game.NewGameSessionProtectionPolicy: the file has FullProtection, and the fleet has NoProtection: write NoProtection",
		"Fleets.game.ResourceCreationLimitPolicy: the file has {NewGameSessionsPerCreator: 3, PolicyPeriodInMinutes: 5}, and the fleet has none: leave it out",
		"Fleets.game.Tags.map: the file has big, and the fleet has none: leave it out",
		"Fleets.game.Tags.mode: the file has team, and the fleet has duel: write duel",
		"Fleets.game.Tags.season: the file has none, and the fleet has one: add that",
	)
	g.lists(said, capacityStays, "Fleets.game.HomeRegion.MaxSize: the file has 2, and the fleet has 3: write 3")
	if !g.comesBack() {
		t.Error("the plan does not say that the build was rolled back")
	}
	if state, err := live.Read(t.Context(), g.API); err != nil || strings.Contains(textOf(t, state.Setup), setup.RolledBackTag) {
		t.Errorf("an exported file has the mark, %v", err)
	}

	// The same files with another version are the build that was rolled back, too.
	bad := g.file
	for _, other := range []string{"1", "7"} {
		g.version("Version: 2, Tags: {from: branch}, ", "Version: "+other+", ")
		if !g.comesBack() {
			t.Errorf("as version %s the plan does not say that the files were rolled back", other)
		}
		g.file = bad
	}

	// What it says to change is all that has to be changed.
	g.put(good)
	g.replaces("Version: 2, Tags: {from: branch}, ", "Version: 1, ")
	g.replaces(after, before)
	g.replaces("ConcurrentExecutions: 2", "ConcurrentExecutions: 1")
	g.replaces("GameSessionActivationTimeoutSeconds: 60", "GameSessionActivationTimeoutSeconds: 300")
	g.replaces("EC2InstanceType: c5.xlarge", "EC2InstanceType: c5.large")
	g.replaces("MaxSize: 2", "MaxSize: 3")
	g.done()
	g.apply()

	// Another build is not the one that was rolled back.
	g.writes(3, before)
	g.version("", "Version: 3, ")
	if g.comesBack() {
		t.Error("a build that follows counts as rolled back")
	}

	// A deployment of it says so, and accepts it.
	g.writes(2, before)
	g.file = bad
	g.says(g.deploy(live.Canary{}), "fleet game: its build game was rolled back on ", ", and is deployed again")
	g.file = first
	g.put(good)
	if g.comesBack() {
		t.Error("version 1 counts as rolled back")
	}
	g.writes(2, before)
	g.file = bad
	if g.comesBack() {
		t.Error("the fleet has the file's build, and the plan brings it back")
	}
}

// Files that are uploaded again after a rollback are recognized with a version that the rolled-back build did not
// have. Once they have the place of the fleet, none of the builds with these files is marked.
func TestRollback_FilesComeBack(t *testing.T) {
	t.Parallel()
	g := newGame(t)
	g.writes(1, home)
	g.version("", "Version: 1, ")
	g.apply()
	first, good := g.file, g.built()
	g.writes(2, home)
	g.version("", "Version: 2, ")
	g.deploy(live.Canary{})
	g.file = first // as if the command had --build-version 2
	g.lists(g.rollback(), stillDescribes, "Builds.game.Folder: the files in "+g.folder+" are not those of the build that the fleet runs: put those back")
	if !g.comesBack() {
		t.Error("with the version that the fleet runs: the plan does not say that the files were rolled back")
	}
	g.version("Version: 1, ", "Version: 3, ")
	bad := g.built()
	for _, other := range [][]byte{append(slices.Clone(good), '\n'), good} {
		g.put(other)
		if g.comesBack() {
			t.Errorf("other files count as rolled back:\n%s", other)
		}
	}
	g.put(bad)
	g.says(g.deploy(live.Canary{}), "fleet game: its build game was rolled back on ", ", and is deployed again")
	out, err := g.API.ListBuilds(t.Context(), &gamelift.ListBuildsInput{})
	if err != nil || len(out.Builds) != 3 {
		t.Fatalf("there are builds %v, %v", out, err)
	}
	for _, b := range out.Builds {
		tags, err := g.API.ListTagsForResource(t.Context(), &gamelift.ListTagsForResourceInput{ResourceARN: b.BuildArn})
		if err != nil || slices.ContainsFunc(tags.Tags, func(tag types.Tag) bool { return *tag.Key == setup.RolledBackTag }) {
			t.Errorf("build %s has the mark after it was accepted, %v", *b.Version, err)
		}
	}
}

// A canary that is taken out is remembered, too, though its fleet is deleted. A file without versions
// describes the former build again once its files are there again.
func TestRollback_WithoutVersion(t *testing.T) {
	t.Parallel()
	g := newGame(t)
	g.writes(1, home)
	g.file += queue
	g.apply()
	good := g.built()
	for version, canary := range []live.Canary{{Share: 0.5}, {}} {
		g.writes(2+version, home)
		g.file += queue
		g.deploy(canary)
		said := g.rollback()
		g.says(said, "fleet game: runs build game again")
		g.lists(said, stillDescribes, "Builds.game.Folder: the files in "+g.folder+" are not those of the build that the fleet runs: put those back")
		g.lists(said, capacityStays)
		if !g.comesBack() {
			t.Errorf("canary %+v: the plan does not say that the build was rolled back", canary)
		}
		if canary.Share > 0 {
			if err := g.Rollback(t.Context(), "game", nil); err == nil || !strings.Contains(err.Error(), "there is no fleet game (previous) to go back to") {
				t.Errorf("the second rollback ends with %v", err)
			}
		}
	}
	g.put(good)
	g.done()
}

func textOf(t *testing.T, s *setup.Setup) string {
	t.Helper()
	text, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// onDelete is an HTTP client that calls before ahead of each request that deletes a fleet.
type onDelete struct{ before func() }

func (c onDelete) Do(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/DeleteFleet") {
		c.before()
	}
	return http.DefaultClient.Do(r)
}

// Before the fleet that the previous one replaces is deleted, which takes as long as its instances
// need to end, it gets another name. Of a fleet whose instances are about to end, a deployment does not say
// that it has none. A fleet that was to be deleted when a command was interrupted is deleted by the next one.
func TestDeploy_NamesOfFormerFleets(t *testing.T) {
	t.Parallel()
	g := newGame(t)
	const home = "    HomeRegion: {MinSize: 0, MaxSize: 2, DesiredInstances: 2}\n"
	g.writes(1, home)
	g.apply()
	first := g.fleet("game")
	g.writes(2, home)
	g.says(g.deploy(live.Canary{}), "fleet game (previous): has no game sessions and 2 instances that end now; it is kept for 'muster deploy --rollback'")
	g.writes(3, home)
	names, plain := []string(nil), g.API
	g.API = node.Client(g.Endpoint, func(o *gamelift.Options) {
		o.HTTPClient = onDelete{func() {
			out, err := plain.DescribeFleetAttributes(t.Context(), &gamelift.DescribeFleetAttributesInput{FleetIds: []string{first}})
			if err != nil {
				t.Error(err)
				return
			}
			names = append(names, *out.FleetAttributes[0].Name)
		}}
	})
	g.deploy(live.Canary{})
	if !slices.Equal(names, []string{"game (replaced)"}) {
		t.Errorf("when it was deleted, the first fleet was called %q", names)
	}

	g.API = plain
	id := g.fleet("game (previous)")
	if _, err := g.API.UpdateFleetAttributes(t.Context(), &gamelift.UpdateFleetAttributesInput{FleetId: &id, Name: aws.String(setup.ReplacedName("game"))}); err != nil {
		t.Fatal(err)
	}
	g.writes(4, home)
	g.deploy(live.Canary{})
	state, err := live.Read(t.Context(), g.API)
	if err != nil || state.Setup.Fleets["game (replaced)"] != nil || len(state.Setup.Fleets) != 2 {
		t.Errorf("there are fleets %v, %v", state.Setup.Fleets, err)
	}
}
