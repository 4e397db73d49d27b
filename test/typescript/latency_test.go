package typescript

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/musterhq/muster/test/node"
)

// measure measures a location with receipts, reports them, and prints both.
const measure = `
import { Client } from "@muster/client";
const [url, transport] = process.argv.slice(1);
const client = new Client(url);
await client.loginGuest();
const samples = await client.measureLatency({ transport, receipts: true, samples: 3 });
console.log(JSON.stringify({ samples, result: await client.reportLatency({ samples }) }));
client.close();
`

// The library's receipts of a beacon, by datagrams and by HTTP, are what the server accepts.
func TestLatency_Receipts(t *testing.T) {
	program, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node.js is missing; install nodejs to run this")
	}
	muster, dir, beacon := node.Path(t), t.TempDir(), node.StartBeacon(t)
	players := filepath.Join(dir, "players.yaml")
	text := fmt.Sprintf("beacon_key_file: %s\nlocations: [{name: %s, udp: %q, https: %q}, {name: custom-away, udp: 127.0.0.1:1, https: 'http://127.0.0.1:1/'}]\n",
		beacon.Key, node.BeaconLocation, beacon.UDP, beacon.HTTPS)
	if err := os.WriteFile(players, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := node.Run(muster, "local", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--players-file", players, "--demo-players", "0", "--log-level", "warn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, server) })
	for _, transport := range []string{"udp", "https"} {
		t.Run(transport, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), program, "--input-type=module", "-e", measure, server.URL, transport)
			cmd.Dir = "../../clients/typescript" // where the package finds itself by its name
			text, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			var out struct {
				Samples []struct {
					Location, Method, Receipt string
					RTTMs                     float64
				}
				Result struct {
					Accepted map[string]int
					Rejected []any
				}
			}
			if err := json.Unmarshal(text, &out); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if len(out.Samples) != 1 || out.Samples[0].Location != node.BeaconLocation || out.Samples[0].Method != transport || out.Samples[0].Receipt == "" || out.Samples[0].RTTMs <= 0 {
				t.Errorf("measured %s", text)
			}
			if out.Result.Accepted[node.BeaconLocation] < 1 || len(out.Result.Rejected) != 0 {
				t.Errorf("the server took %s", text)
			}
		})
	}
}

// stop stops a server with the demo, whose game servers outlive one that is killed.
func stop(t *testing.T, server *node.Process) {
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}
