package guides

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/musterhq/muster/test/node"
)

// TestThreeMachines types the commands of the guide in its order, until a game was played on one
// of the machines and that machine is taken out of service. The machines are folders of this one:
// an address for all, and ports for each.
func TestThreeMachines(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("run this as root, as the guide's agents are: they isolate game servers")
	}
	node.Arena(t) // which the guide hosts
	g := newGuide(t, "docs/three-machines.md")
	if err := os.Chmod(filepath.Dir(g.dir), 0o755); err != nil { // users of game servers come through it
		t.Fatal(err)
	}
	address := node.Reserve(t)
	g.with("0.0.0.0:9443", address)
	g.with("10.0.0.10:9443", address)
	g.serves(g.next("muster serve"))
	g.types("muster login")
	g.write("muster.yaml", g.next("Locations:"))
	g.with("join-…", g.joins(g.types("muster apply")))
	join := g.next("MUSTER_TOKEN")
	for name, ports := range map[string]string{"first": "21000-21199", "second": "22000-22199"} {
		g.enter("mkdir " + name + "; cp muster-data/server-cert.pem " + name)
		g.agent(filepath.Join(g.dir, name), join, "MUSTER_PORTS="+ports, "MUSTER_CPU=2", "MUSTER_STOP=true", "MUSTER_NAME="+name)
	}
	g.until("muster hosts | grep -c connected || true", "2\n")
	g.with("host-…", shownHost.FindString(g.types("muster hosts")))
	g.types("mkdir dist")
	g.write("muster.yaml", g.next("Locations:"))
	g.prints(g.types("muster apply"), "ACTIVE")
	g.prints(g.types("muster demo play"), "TERMINATED")
	g.prints(g.types("muster hosts drain"), "drain")
}
