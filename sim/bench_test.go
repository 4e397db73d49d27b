package sim_test

import (
	"os"
	"testing"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/sim"
)

// BenchmarkRun simulates ten minutes of the documentation's example and reports how many
// player-minutes, waiting and playing, it simulates per second.
func BenchmarkRun(b *testing.B) {
	body, err := os.ReadFile("testdata/five-against-five.json")
	if err != nil {
		b.Fatal(err)
	}
	rs, err := ruleset.Parse(string(body))
	if err != nil {
		b.Fatal(err)
	}
	players, err := os.ReadFile("testdata/evening.yaml")
	if err != nil {
		b.Fatal(err)
	}
	minutes := 0.0
	for b.Loop() {
		r := run(b, sim.Options{RuleSet: rs, Spec: spec(b, string(players)), Seed: 1, For: 10 * time.Minute})
		minutes += r.Played.Waiting + r.Played.Playing
	}
	b.ReportMetric(minutes/b.Elapsed().Seconds(), "player-minutes/s")
}
