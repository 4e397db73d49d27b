package guides

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/musterhq/muster/setup/live"
	"github.com/musterhq/muster/test/node"
)

// TestDeploying types the commands of the guide: its file is applied, builds are deployed, taken
// back and tried as a canary, and another server becomes the same by the bundle.
func TestDeploying(t *testing.T) {
	t.Parallel()
	arena := node.Arena(t)
	const same = "The server is as the file describes it."
	g := newGuide(t, "docs/deploying.md")
	g.serve("local", "--demo=false")
	g.enter("mkdir dist && cp '" + arena + "' dist/arena")
	g.write("four.json", `{"name": "four", "ruleLanguageVersion": "1.0", "teams": [{"name": "all", "minPlayers": 2, "maxPlayers": 4}]}`)
	g.write("muster.yaml", g.next("Builds:"))
	g.with("muster apply\n", "muster apply --yes\n") // there is nobody to ask
	g.with("muster apply -f game.zip\n", "muster apply -f game.zip --yes\n")
	g.prints(g.types("muster apply --plan"), "+ create   fleet arena", "+ create   alias live", "Plan: 6 to create, 0 to update", "fleet arena: created", "configuration four: created")
	g.prints(g.enter("muster apply --drift"), same)

	g.enter("echo 2 > dist/version")
	g.prints(g.types("muster deploy --build-version 2"), "arena (next)", "alias live leads to fleet", "arena (previous)", "fleet arena: replaced")
	if out := g.enter("muster apply --drift || test $? = 3"); !strings.Contains(out, "arena") {
		t.Errorf("the file has version 1, the fleet 2, and this is the difference: %q", out)
	}
	g.prints(g.types("muster deploy --rollback"), "alias live leads to fleet", "arena (previous)", "fleet arena: runs build arena, version 1, again", "Builds.arena.Folder: the files in ", " are not those of the build that the fleet runs: put those back")
	g.prints(g.enter("muster apply --plan"), "± replace  build arena") // its Version is that of the build that serves
	g.prints(g.enter("rm dist/version && muster apply --drift"), same) // the file names the former build
	g.enter("echo 3 > dist/version")
	g.prints(g.types("muster deploy --build-version 3 --canary 10%"), "fleet arena (next): is ACTIVE with 1 instance beside 2, and first in 1 queue", "alias live leads to fleet", "arena (previous)")

	g.enter("echo 4 > dist/version")
	out := g.types("muster deploy --build-version 4 -o json")
	deployed, shown := deployment(t, out[strings.LastIndex(out, "\n{")+1:]), deployment(t, g.next("{")) // its progress is before that
	if shown.Current.Version != "4" || shown.Previous == nil {
		t.Errorf("the guide shows %+v", shown)
	}
	if now, before := deployed.Current, deployed.Previous; now == nil || before == nil || deployed.Next != nil || now.Version != "4" || before.Version != "3" || now.FleetID == before.FleetID {
		t.Errorf("it says %+v, with %+v and %+v", deployed, now, before)
	}

	g.prints(g.types("muster export --out"), "fleet arena (previous) is of a deployment of arena: it is left out", "build arena@4: reading its archive")
	g.prints(g.read("muster.yaml"), "Build: arena@4")
	g.serve("local", "--demo=false")
	g.enter("export MUSTER_ENDPOINT=" + g.muster)
	g.prints(g.types("muster apply -f game.zip"), "Plan: 9 to create", "configuration four: created")
	g.prints(g.enter("muster apply -f game.zip --drift"), same)

	g.enter("curl -s --fail -X POST " + g.muster + "/player/v1/auth/guest")
	g.prints(g.types("muster export --bundle game.zip --players"), "in the bundle: 1 player; keep it as safe as a backup")
	g.serve("local", "--demo=false")
	g.enter("export MUSTER_ENDPOINT=" + g.muster)
	g.prints(g.enter("muster apply -f game.zip --yes"), "1 player taken over")
}

// deployment reads what 'muster deploy -o json' writes.
func deployment(t *testing.T, text string) (d live.Deployment) {
	t.Helper()
	from := json.NewDecoder(strings.NewReader(text))
	from.DisallowUnknownFields()
	if err := from.Decode(&d); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return d
}
