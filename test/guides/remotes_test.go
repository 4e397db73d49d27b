package guides

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// TestPlacement_Remotes types the file of the guide and the queue that leads to two other
// deployments: game sessions are placed at home, then at the cheaper of the two, then at the
// other. A Muster stands for AWS, too: the file names its address.
func TestPlacement_Remotes(t *testing.T) {
	t.Parallel()
	needs(t, "aws")
	g := newGuide(t, "docs/placement.md")
	frankfurt, oregon := g.elsewhere("eu-central-1", "222222222222"), g.elsewhere("us-west-2", "333333333333")
	g.with("/etc/muster/frankfurt.secret", filepath.Join(g.dir, "eu-central-1.secret"))
	g.with("/etc/muster/aws.secret", filepath.Join(g.dir, "us-west-2.secret"))
	g.with("https://muster.example.com:9080", frankfurt.url)
	g.with("  ca: frankfurt.pem\n", "") // it speaks plain HTTP
	g.with("MU5KEXAMPLE", frankfurt.key)
	g.with("access_key_id: AKIAEXAMPLE", "access_key_id: "+oregon.key+"\n  endpoint: "+oregon.url)
	g.with("arn:aws:gamelift:eu-central-1:222222222222:fleet/fleet-1", frankfurt.place.FleetARN)
	g.with("arn:aws:gamelift:us-west-2:333333333333:fleet/fleet-2", oregon.place.FleetARN)
	g.write("remotes.yaml", g.next("- name: frankfurt"))
	g.serve("local", "--demo-players", "0", "--demo-processes", "1", "--remotes", "remotes.yaml")
	g.until("muster fleets", "ACTIVE")
	setup, _, _ := strings.Cut(document.Find(t, g.name, "sh", "ALIAS=").Text, "gl create-game-session-queue")
	g.enter(strings.ReplaceAll(setup, "http://127.0.0.1:9080", g.muster))
	g.prints(g.types("gl create-game-session-queue"), `"Name": "overflow"`, frankfurt.place.FleetARN, oregon.place.FleetARN)

	place := func(id string) {
		t.Helper()
		g.enter("gl start-game-session-placement --placement-id " + id + " --game-session-queue-name overflow --maximum-player-session-count 4")
	}
	fulfilled := func(id, where string) {
		t.Helper()
		g.prints(g.until("gl describe-game-session-placement --placement-id "+id, `"FULFILLED"`), where)
	}
	place("first")
	fulfilled("first", "custom-local")
	place("second")
	g.until("muster placements explain second | sed -n '/^Now/,$p' > now; grep -c NO_FREE_PROCESS now || true", "3\n")
	now := g.read("now") // the remotes have answered
	if home, cheap, dear := strings.Index(now, "custom-local"), strings.Index(now, oregon.place.FleetID), strings.Index(now, frankfurt.place.FleetID); home < 0 || cheap < home || dear < cheap {
		t.Errorf("home, the cheaper and the dearer are not in this order:\n%s", now)
	}
	oregon.place.Server(t)
	fulfilled("second", oregon.place.FleetID)
	place("third")
	frankfurt.place.Server(t)
	fulfilled("third", frankfurt.place.FleetID)
}

// elsewhere is another Muster, and what the guide's file says of it.
type elsewhere struct {
	url, key string
	place    *node.Place
}

// elsewhere runs another Muster until the test ends. Its key for others, made as the guide says,
// has its secret in REGION.secret.
func (g *guide) elsewhere(region, account string) (e elsewhere) {
	g.Helper()
	data := g.TempDir()
	p := node.Serve(g, node.Path(g), "serve", "--region", region, "--account", account, "--data", data, "--listen", "127.0.0.1:0", "--log-level", "warn")
	e.url = p.URL
	admin := node.FirstKey(g, data)
	e.place = node.NewPlace(g, node.ClientAs(p.URL, admin.AccessKeyID, admin.SecretAccessKey, func(o *gamelift.Options) { o.Region = region }))
	create := exec.Command(node.Path(g), "admin", "keys", "create", "overflow", "--role", "game-backend")
	create.Env = append(os.Environ(), "MUSTER_ENDPOINT="+p.URL, "MUSTER_CREDENTIALS="+filepath.Join(data, "admin-credentials"))
	out, err := create.Output()
	if err != nil {
		g.Fatalf("%v: %v", create, err)
	}
	made := keys(g.T, string(out))[0]
	e.key = made.AccessKeyID
	g.write(region+".secret", fmt.Sprintln(made.SecretAccessKey))
	return e
}
