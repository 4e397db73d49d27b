package guides

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// TestBuilds types the commands of the guide: AWS's tool uploads the demo game, and a build is
// made of a file in a bucket.
func TestBuilds(t *testing.T) {
	t.Parallel()
	needs(t, "aws zip")
	arena := node.Arena(t)
	g := newGuide(t, "docs/builds.md")
	g.serve("local", "--demo=false")
	g.enter("mkdir dist && cp '" + arena + "' dist/arena && (cd dist && zip -q ../arena.zip arena)")
	upload, describe, found := strings.Cut(g.next("export AWS"), "aws gamelift describe-build")
	if !found {
		t.Fatal("the block does not end with describe-build")
	}
	_, id, found := strings.Cut(g.enter(upload), "Build ID: ")
	if !found {
		t.Fatal("upload-build prints no Build ID")
	}
	g.with("build-…", strings.TrimSpace(id))
	g.until(strings.ReplaceAll("aws gamelift describe-build"+describe, "build-…", strings.TrimSpace(id)), "READY")
	g.prints(g.types("aws s3 mb"), "make_bucket: games", "upload: ./arena.zip", `"Status"`)
	g.until("aws gamelift list-builds --query 'length(Builds[?Status==`READY`])'", "2")
}

// TestFlexMatchRules types the commands of the guide: its rule set is right, one with an error
// is refused with the place, a step that comes too late is doubtful, and a ticket is explained.
func TestFlexMatchRules(t *testing.T) {
	t.Parallel()
	const name = "docs/flexmatch-rules.md"
	g := newGuide(t, name)
	g.env = append(g.env, "MUSTER_ENDPOINT="+fiveAgainstFive(t))
	g.with("match-me-7", "exported")
	rules := g.next("{")
	g.write("rules.json", rules)
	check := g.next("bin/muster ruleset check")
	g.enter(check)
	g.write("rules.json", strings.Replace(rules, `"steps": [{"waitTimeSeconds": 10, "value": 100}]`, `"steps": []`, 1))
	wrong, err := g.desk.shell(check).CombinedOutput()
	if err == nil {
		t.Errorf("no error of %s", check)
	}
	_, said, _ := strings.Cut(strings.Split(document.Find(t, name, "", "rules.json:19").Text, "\n")[1], "expansions[1]")
	g.prints(string(wrong), "rules.json:11:", "expansions[0]"+said)
	g.write("rules.json", strings.Replace(rules, `"waitTimeSeconds": 10`, `"waitTimeSeconds": 200`, 1))
	g.prints(g.types("bin/muster ruleset check rules.json --request-timeout"), "doubtful: the expansion at 3m20s is never reached: tickets time out after 2m0s")
	g.write("rules.json", g.next("{")) // roles
	g.prints(g.enter(check), "rules.json is valid: 2 teams, 10 players, 3 rules")
	g.prints(g.types("bin/muster tickets explain"), "exported", "five-v-five", "1 ticket")
}
