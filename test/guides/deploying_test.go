package guides

import (
	"os"
	"strings"
	"testing"
)

// TestDeploying types the commands of the guide: its file is applied, builds are deployed, taken
// back and tried as a canary, and another server becomes the same by the bundle.
func TestDeploying(t *testing.T) {
	t.Parallel()
	arena := os.Getenv("ARENA_BIN")
	if arena == "" {
		t.Skip("set ARENA_BIN to the demo game, which is deployed")
	}
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

	g.prints(g.types("muster export --out"), "fleet arena (previous) is of a deployment of arena: it is left out", "build arena@3: reading its archive")
	g.prints(g.read("muster.yaml"), "Build: arena@3")
	g.serve("local", "--demo=false")
	g.enter("export MUSTER_ENDPOINT=" + g.muster)
	g.prints(g.types("muster apply -f game.zip"), "Plan: 8 to create", "configuration four: created")
	g.prints(g.enter("muster apply -f game.zip --drift"), same)

	g.enter("curl -s --fail -X POST " + g.muster + "/player/v1/auth/guest")
	g.prints(g.types("muster export --bundle game.zip --players"), "in the bundle: 1 player; keep it as safe as a backup")
	g.serve("local", "--demo=false")
	g.enter("export MUSTER_ENDPOINT=" + g.muster)
	g.prints(g.enter("muster apply -f game.zip --yes"), "1 player taken over")
}
