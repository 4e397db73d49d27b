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

// version changes the Version of the file's build.
func (g *game) version(from, to string) {
	g.Helper()
	changed := strings.Replace(g.file, from+"OperatingSystem:", to+"OperatingSystem:", 1)
	if changed == g.file {
		g.Fatalf("the file has no build %q:\n%s", from, g.file)
	}
	g.file = changed
}

// After a rollback the file still names the build that was taken out. The rollback says what to
// change, plans and deployments say that the build was rolled back, and a build that follows is not
// marked, nor one that has been accepted after all.
func TestRollback_FileStillNamesIt(t *testing.T) {
	t.Parallel()
	g := newGame(t)
	const home = "    HomeRegion: {MinSize: 0, MaxSize: 2, DesiredInstances: 1}"
	g.writes(1, home)
	g.version("", "Version: 1, ")
	g.apply()
	first := g.file
	program := filepath.Join(g.folder, "game")
	good, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}

	g.writes(2, home)
	g.version("", "Version: 2, ")
	if g.comesBack() {
		t.Error("a new build counts as rolled back")
	}
	g.deploy(live.Canary{})
	g.says(g.rollback(),
		"fleet game: runs build game, version 1, again",
		"The file still describes what was rolled back: the next 'muster apply' or 'muster deploy' brings it back, unless you change this first:",
		"  Builds.game.Version: the file has 2, and the fleet runs 1: write 1",
		"  Builds.game.Folder: the files in "+g.folder+" are not those of the build that the fleet runs: put those back",
	)
	if !g.comesBack() {
		t.Error("the plan does not say that the build was rolled back")
	}
	if state, err := live.Read(t.Context(), g.API); err != nil || strings.Contains(textOf(t, state.Setup), setup.RolledBackTag) {
		t.Errorf("an exported file has the mark, %v", err)
	}

	// The same files with another version are the build that was rolled back, too.
	bad := g.file
	for _, other := range []string{"1", "7"} {
		g.file = bad
		g.version("Version: 2, ", "Version: "+other+", ")
		if !g.comesBack() {
			t.Errorf("as version %s the plan does not say that the files were rolled back", other)
		}
	}

	// What it says to change is all that has to be changed.
	if err := os.WriteFile(program, good, 0o755); err != nil {
		t.Fatal(err)
	}
	g.file = first
	if _, _, plan := read(t, g.Server, g.file, false); plan.Changes() {
		t.Errorf("after what it says to change, there is still %+v to do", plan)
	}

	// Another build is not the one that was rolled back.
	g.writes(3, home)
	g.version("", "Version: 3, ")
	if g.comesBack() {
		t.Error("a build that follows counts as rolled back")
	}

	// A deployment of it says so, and accepts it.
	g.writes(2, home)
	g.file = bad
	g.says(g.deploy(live.Canary{}), "fleet game: its build game was rolled back on ", ", and is deployed again")
	g.file = first
	if err := os.WriteFile(program, good, 0o755); err != nil {
		t.Fatal(err)
	}
	if g.comesBack() {
		t.Error("version 1 counts as rolled back")
	}
	g.writes(2, home)
	g.file = bad
	if g.comesBack() {
		t.Error("the fleet has the file's build, and the plan brings it back")
	}
}

// A canary that is taken out is remembered, too, though its fleet is deleted.
func TestRollback_Canary(t *testing.T) {
	t.Parallel()
	g := newGame(t)
	const home = "    HomeRegion: {MinSize: 0, MaxSize: 2, DesiredInstances: 1}"
	const queue = "GameSessionQueues: {main: {Destinations: [{Alias: live}]}}\n"
	g.writes(1, home)
	g.file += queue
	g.apply()
	g.writes(2, home)
	g.file += queue
	g.deploy(live.Canary{Share: 0.5})
	g.says(g.rollback(), "fleet game: runs build game again", "  Builds.game.Folder: the files in "+g.folder+" are not those of the build that the fleet runs: put those back")
	if !g.comesBack() {
		t.Error("the plan does not say that the build was rolled back")
	}
	if err := g.Rollback(t.Context(), "game", nil); err == nil || !strings.Contains(err.Error(), "there is no fleet game (previous) to go back to") {
		t.Errorf("the second rollback ends with %v", err)
	}
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
// that it has none.
func TestDeploy_NamesOfFormerFleets(t *testing.T) {
	t.Parallel()
	g := newGame(t)
	const home = "    HomeRegion: {MinSize: 0, MaxSize: 2, DesiredInstances: 2}"
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
}

// A fleet that was to be deleted when a command was interrupted is deleted by the next one.
func TestDeploy_DeletesWhatWasReplaced(t *testing.T) {
	t.Parallel()
	g := newGame(t)
	const home = "    HomeRegion: {MinSize: 0, MaxSize: 2, DesiredInstances: 1}"
	g.writes(1, home)
	g.apply()
	g.writes(2, home)
	g.deploy(live.Canary{})
	id := g.fleet("game (previous)")
	if _, err := g.API.UpdateFleetAttributes(t.Context(), &gamelift.UpdateFleetAttributesInput{FleetId: &id, Name: aws.String(setup.ReplacedName("game"))}); err != nil {
		t.Fatal(err)
	}
	g.writes(3, home)
	g.deploy(live.Canary{})
	state, err := live.Read(t.Context(), g.API)
	if err != nil || state.Setup.Fleets["game (replaced)"] != nil || len(state.Setup.Fleets) != 2 {
		t.Errorf("there are fleets %v, %v", state.Setup.Fleets, err)
	}
}
