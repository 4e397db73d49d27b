package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/musterhq/muster/test/node"
)

// measurers are programs that measure with receipts. Each takes the server's URL, and udp or
// https.
var measurers = []runtimeRow{cpp("", "testdata/receipts/receipts.cpp"), csharp("", "testdata/receipts/Receipts.cs")}

// localWithBeacon starts a server that checks the receipts of a beacon; more is of its locations.
func localWithBeacon(t *testing.T, more string) *node.Process {
	t.Helper()
	beacon, players := node.StartBeacon(t), filepath.Join(t.TempDir(), "players.yaml")
	text := fmt.Sprintf("beacon_key_file: %s\nlocations: [{name: %s, udp: %q, https: %q}%s]\n", beacon.Key, node.BeaconLocation, beacon.UDP, beacon.HTTPS, more)
	if err := os.WriteFile(players, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return local(t, "--players-file", players)
}

// Receipts of a beacon, by datagrams and by HTTP, are what the server takes, which checks them.
// The location that is not reached is left out.
func TestReceipts(t *testing.T) {
	server := localWithBeacon(t, ", {name: custom-away, udp: 127.0.0.1:1, https: 'http://127.0.0.1:1/'}")
	for _, r := range measurers {
		t.Run(r.name, func(t *testing.T) {
			r.available(t)
			out := t.TempDir()
			r.compile(t, out)
			for _, method := range []string{"udp", "https"} {
				r.receipts(t, out, server.URL, method)
			}
		})
	}
}

// receipts measures, and compares what was measured and what the server took.
func (r *runtimeRow) receipts(t *testing.T, out, url, method string) {
	text, err := r.output(t, out, url, method)
	if err != nil {
		t.Fatalf("%s: %v\n%s", method, err, text)
	}
	var got struct {
		Samples []struct {
			Location, Method, Receipt string
		}
		Result struct {
			Accepted map[string]int
			Rejected []any
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%s: %v\n%s", method, err, text)
	}
	if len(got.Samples) != 1 || got.Samples[0].Location != node.BeaconLocation || got.Samples[0].Method != method || got.Samples[0].Receipt == "" {
		t.Errorf("%s: measured %s", method, text)
	}
	if got.Result.Accepted[node.BeaconLocation] < 1 || len(got.Result.Rejected) != 0 {
		t.Errorf("%s: the server took %s", method, text)
	}
}
