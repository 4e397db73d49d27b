package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/musterhq/muster/test/node"
)

// measurers are programs that measure with receipts. Each takes the server's URL, and udp or
// https.
var measurers = []runtimeRow{
	{
		name: "c++", source: "clients/cpp", needs: "g++", remedy: "install g++ and libcurl (Debian packages g++ and libcurl4-openssl-dev)",
		build: []string{"g++", "-std=c++17", "-I{source}/include", "-o", "{out}/receipts", "{source}/src/*.cpp", "testdata/receipts/receipts.cpp", "-lcurl", "-pthread"},
		run:   []string{"{out}/receipts"},
	},
	{
		name: "c#", source: "clients/csharp", needs: "mcs mono", remedy: "install Mono (Debian packages mono-mcs and mono-runtime)",
		build: []string{"mcs", "-langversion:7.2", "-out:{out}/receipts.exe", "-r:System.Net.Http.dll", "{source}/Runtime/*.cs", "{source}/Runtime/Generated/*.cs", "testdata/receipts/Receipts.cs"},
		run:   []string{"mono", "{out}/receipts.exe"},
	},
}

// Receipts of a beacon, by datagrams and by HTTP, are what the server takes, which checks them.
// The location that is not reached is left out.
func TestReceipts(t *testing.T) {
	beacon, dir := node.StartBeacon(t), t.TempDir()
	players := filepath.Join(dir, "players.yaml")
	text := fmt.Sprintf("beacon_key_file: %s\nlocations: [{name: %s, udp: %q, https: %q}, {name: custom-away, udp: 127.0.0.1:1, https: 'http://127.0.0.1:1/'}]\n",
		beacon.Key, node.BeaconLocation, beacon.UDP, beacon.HTTPS)
	if err := os.WriteFile(players, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := node.Run(node.Path(t), "local", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--players-file", players, "--demo-players", "0", "--log-level", "warn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the demo's game servers outlive a server that is killed
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
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
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	args := append(r.expand(t, r.run, out), url, method)
	text, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
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
