package sim_test

import (
	"testing"
	"time"

	"github.com/musterhq/muster/sim"
)

// BenchmarkRun simulates ten minutes of the documentation's examples and reports how many
// player-minutes, waiting and playing, it simulates per second.
func BenchmarkRun(b *testing.B) {
	for _, c := range []struct{ rules, players string }{
		{"five-against-five", "evening"}, // many wait, and each rule is a column of the index
		{"even-skill", "region"},         // few wait, and the evaluator judges each set
		{"near-average", "region"},
		{"modes", "region-backfill"},
		{"roles", "region"},
	} {
		b.Run(c.rules, func(b *testing.B) {
			rs, players, minutes := ruleSetOf(b, c.rules), playersOf(b, c.players), 0.0
			for b.Loop() {
				r := run(b, sim.Options{RuleSet: rs, Spec: players, Seed: 1, For: 10 * time.Minute})
				minutes += r.Played.Waiting + r.Played.Playing
			}
			b.ReportMetric(minutes/b.Elapsed().Seconds(), "player-minutes/s")
		})
	}
}
