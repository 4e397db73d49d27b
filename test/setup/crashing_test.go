package setup

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/cli/terminal"
	"github.com/musterhq/muster/setup"
	"github.com/musterhq/muster/setup/live"
)

// program makes the game of the file another one, which has to say to the server when it is ready.
func (g *game) program(text string) {
	g.Helper()
	g.put([]byte("#!/bin/sh\n" + text))
	g.file = strings.Replace(g.file, `Parameters: "{{.NoSDK}}", ConcurrentExecutions: 1`, "ConcurrentExecutions: 8", 1)
}

// crashes returns how many game servers of a fleet have crashed.
func (g *game) crashes(fleet string) (n int) {
	g.Helper()
	id := g.fleet(fleet)
	for page := gamelift.NewDescribeFleetEventsPaginator(g.API, &gamelift.DescribeFleetEventsInput{FleetId: &id}); page.HasMorePages(); {
		out, err := page.NextPage(g.Context())
		if err != nil {
			g.Fatal(err)
		}
		for _, e := range out.Events {
			if e.EventCode == types.EventCodeServerProcessCrashed {
				n++
			}
		}
	}
	return n
}

// A build whose game servers only crash is not waited for as long as one that takes its time. The
// error has what the last one wrote about it, and the state. Crashes within a short time are waited
// out. So are those from before the command, since their cause may have been removed. A build that works
// replaces the fleet.
func TestDeploy_StopsWaitingForCrashes(t *testing.T) {
	t.Parallel()
	g := newGame(t)
	g.writes(1, home)
	g.apply()
	first := g.fleet("game")

	g.writes(2, home)
	g.program("echo 'panic: no map' >&2\nfor n in $(seq 50); do printf 'main.load()\\n\\t/build/map.go:%d +0x1d\\n' $n >&2; done\nexit 2\n")
	want := g.describes()
	patience := g.Patience
	g.Crashing, g.Patience = time.Hour, 4*time.Second
	if err := g.Deploy(t.Context(), want, "game", live.Canary{}); err == nil || !strings.Contains(err.Error(), "fleet game (next): not done after 4s") {
		t.Errorf("crashes within less than an hour: %v", err)
	}
	before := g.crashes("game (next)")
	g.Crashing, g.Patience = time.Millisecond, patience
	err := g.Deploy(t.Context(), want, "game", live.Canary{})
	if err == nil {
		t.Fatal("it does not fail")
	}
	if shown := g.shows((*terminal.Terminal).Status); !strings.Contains(shown, " crashed in 5 min") {
		t.Errorf("game servers that crash before they are ready are no crashes:\n%s", shown)
	}
	if n := g.crashed(); n < 5 {
		t.Errorf("the page of crashes has %d of them", n)
	}
	lines := strings.Split(err.Error(), "\n")
	g.says(lines[0], "fleet game (next): its game servers have failed ", " times within ", ", and none has become ready. The last one: SERVER_PROCESS_CRASHED: ", `: "panic: no map"; it had not called InitSDK`)
	g.says(lines[len(lines)-1], "State: fleet game serves, and game (next) of an earlier command is beside it. The same command goes on; 'muster deploy --rollback --fleet game' takes game (next) out of service again")
	if strings.Contains(err.Error(), "map.go") {
		t.Errorf("the error has the stack trace:\n%v", err)
	}
	var n int
	if _, err := fmt.Sscanf(lines[0], "replace fleet game: fleet game (next): its game servers have failed %d times", &n); err != nil || n < 5 || before < 5 || n > g.crashes("game (next)")-before {
		t.Errorf("after %d crashes the command gives up after %d, %v:\n%s", before, n, err, lines[0])
	}

	g.writes(3, home)
	g.says(g.deploy(live.Canary{}), "fleet game (next): is of another build; deleting it", "fleet game: replaced")
	if g.fleet("game (previous)") != first {
		t.Error("the former fleet is another one than that which served")
	}
}

// A fleet that fails in the one location where it is to have instances has failed, though its home
// region, where it is to have none, still waits for a host.
func TestApply_FailsInItsOnlyLocation(t *testing.T) {
	t.Parallel()
	g := hostless(t, "custom-lab")
	g.writes(1, "    HomeRegion: {MinSize: 0, MaxSize: 0, DesiredInstances: 0}\n    Locations: {custom-lab: {MinSize: 0, MaxSize: 1, DesiredInstances: 1}}")
	g.file = "Locations: {custom-lab: {}}\n" + strings.Replace(g.file, "/local/game/game", "/local/game/missing", 1)
	machine(t, g.Endpoint, "custom-lab")
	want, state, plan := read(t, g.Server, g.file, false)
	err := g.Apply(t.Context(), want, state, plan)
	if err == nil {
		t.Fatal("it does not fail")
	}
	g.says(err.Error(), "create fleet game: is in status ERROR: ", "/local/game/missing")
	failed := g.fleet("game")

	// With the cause still there, the plan has the fleet still, and says why.
	want, state, plan = read(t, g.Server, g.file, false)
	if len(plan) != 1 || plan[0].Op != setup.Replace || plan[0].Changes[0].From != "ERROR" {
		t.Errorf("the plan is %+v", plan)
	}
	for range 2 { // a second time with the next fleet of the first
		if err = g.Apply(t.Context(), want, state, plan); err == nil {
			t.Fatal("it does not fail again")
		}
		g.says(err.Error(), "replace fleet game: is in status ERROR: ", "/local/game/missing")
		want, state, plan = read(t, g.Server, g.file, false)
	}
	g.says(strings.Join(g.told, "\n"), "fleet game (next): is in status ERROR; deleting it")

	// With the cause removed, the same command goes on: another fleet takes the place of the one that failed.
	g.file = strings.Replace(g.file, "/local/game/missing", "/local/game/game", 1)
	g.apply()
	if g.fleet("game") == failed {
		t.Error("the fleet that failed has its place still")
	}
	g.leaves()

	// So does a new build, though the fleet before it has never been ACTIVE. Nothing is kept for a rollback.
	g.delete("game")
	works := g.file
	g.program("exit 2\n")
	for _, again := range []string{"deploy", "apply"} {
		g.Crashing, g.Patience = time.Millisecond, 5*time.Second
		if err := g.command(g.Server, again); err == nil {
			t.Fatalf("%s: a build that crashes works", again)
		}
		g.program("exec sleep 600\n")
		g.file = works // with the runtime configuration that it had
		g.Crashing, g.Patience = time.Hour, time.Minute
		if err := g.command(g.Server, again); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if err := g.command(g.Server, "apply"); err != nil { // the alias, which deploy leaves
			t.Fatal(err)
		}
		g.leaves()
		g.delete("game")
		g.program("exit 3\n")
	}
}

// A fleet that has not been ACTIVE and was to take the place of one that has been deleted is deleted by a
// rollback, as a promotion says, which cannot do anything with it.
func TestRollback_FailedWithoutBase(t *testing.T) {
	t.Parallel()
	g := newGame(t)
	g.writes(1, home)
	g.deploy(live.Canary{})
	g.writes(2, home)
	g.file = strings.Replace(g.file, "/local/game/game", "/local/game/missing", 1)
	if err := g.command(g.Server, "deploy"); err == nil {
		t.Fatal("it does not fail")
	}
	g.delete("game")
	err := g.command(g.Server, "promote")
	if err == nil {
		t.Fatal("a fleet in ERROR is promoted")
	}
	g.says(err.Error(), "fleet game (next) is in status ERROR", "'muster deploy --rollback --fleet game' deletes it")
	if err := g.command(g.Server, "rollback"); err != nil {
		t.Fatal(err)
	}
	if d, err := g.Deployment(t.Context(), "game"); err != nil || d.Current != nil || d.Next != nil || d.Previous != nil {
		t.Errorf("it is %+v, %v", d, err)
	}
}

// crashed returns how many crashes the console shows.
func (g *game) crashed() int {
	g.Helper()
	answer, err := http.Get(g.Endpoint + "/console/api/views/crashes")
	if err != nil {
		g.Fatal(err)
	}
	defer answer.Body.Close()
	var page struct {
		Data struct {
			Groups []struct {
				Count int
				Build string
			}
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&page); err != nil || answer.StatusCode != http.StatusOK {
		g.Fatalf("the page of crashes: %s, %v", answer.Status, err)
	}
	if len(page.Data.Groups) != 1 || page.Data.Groups[0].Build == "" {
		g.Fatalf("the crashes of one build are %+v", page.Data.Groups)
	}
	return page.Data.Groups[0].Count
}

// delete deletes a fleet.
func (g *game) delete(name string) {
	g.Helper()
	id := g.fleet(name)
	if _, err := g.API.DeleteFleet(g.Context(), &gamelift.DeleteFleetInput{FleetId: &id}); err != nil {
		g.Fatal(err)
	}
}

// leaves checks that nothing is left to do, and that no fleet is beside the one of the file.
func (g *game) leaves() {
	g.Helper()
	g.done()
	d, err := g.Deployment(g.Context(), "game")
	if err != nil || d.Current == nil || d.Current.Status != "ACTIVE" || d.Next != nil || d.Previous != nil {
		g.Errorf("it is %+v with %+v, %v", d, d.Current, err)
	}
}
