package sim_test

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/sim"
)

var update = flag.Bool("update", false, "write testdata/reports.txt")

// A report is the same, byte for byte, as the one whose digest is on record. What makes the
// search faster must not change it: the first digests were recorded before searches left out
// what an earlier pass had tried.
func TestRun_SameReports(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the digests are of amd64; elsewhere multiplication and addition may round once instead of twice")
	}
	var got strings.Builder
	for _, rules := range []string{"even-skill", "near-average", "roles", "modes", "five-against-five"} {
		for _, c := range []struct {
			players string
			play    time.Duration
		}{{"region", 8 * time.Minute}, {"region-backfill", 8 * time.Minute}, {"evening", 2 * time.Minute}} {
			if c.players == "evening" && rules != "five-against-five" {
				continue
			}
			for seed := range uint64(2) {
				if rules == "roles" {
					c.play = 3 * time.Minute // after that, searches reached their bounds, which now come later
				}
				r := run(t, sim.Options{RuleSet: ruleSetOf(t, rules), Spec: playersOf(t, c.players), Seed: seed + 1, For: c.play})
				text, err := json.MarshalIndent(r, "", " ")
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&got, "%s %s %d %x\n", rules, c.players, seed+1, sha256.Sum256(text))
			}
		}
	}
	const file = "testdata/reports.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("reports (-want +got); if they are to differ, -update writes the new digests:\n%s", diff)
	}
}

func ruleSetOf(t testing.TB, name string) *ruleset.RuleSet {
	t.Helper()
	body, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	rs, err := ruleset.Parse(string(body))
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

func playersOf(t testing.TB, name string) *sim.Spec {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return spec(t, string(text))
}
