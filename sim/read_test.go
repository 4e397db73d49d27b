package sim_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/sim"
)

func TestReadSpec_Refuses(t *testing.T) {
	for text, want := range map[string]string{
		"populations: [{}]":                                                            "populations[0].tickets_per_minute is required",
		"populations: [{tickets_per_minute: [1, 2]}]":                                  "a list of 24 numbers",
		"populations: [{tickets_per_minute: 1, parties: {12: 1}}]":                     `"12" is no number of players from 1 to 10`,
		"populations: [{tickets_per_minute: 1, accept: 0.8, reject: 0.5}]":             "shares",
		"populations: [{tickets_per_minute: 1, attributes: {a: {}}}]":                  ".attributes.a: one of number",
		"populations: [{tickets_per_minute: 1, attributes: {a: {string: {x: 0}}}}]":    "at least one weight",
		"populations: [{tickets_per_minute: 1, latency_ms: {eu: {uniform: [2, 1]}}}]":  ".latency_ms.eu: uniform",
		"populations: [{tickets_per_minute: 1, patience_seconds: {normal: {sd: -1}}}]": "patience_seconds: a deviation",
		"matchmaking: {backfill: SOMETIMES}":                                           "matchmaking.backfill",
		"matchmaking: {pass_interval_seconds: 100}":                                    "pass_interval_seconds",
		"matches: {length: 5}":                                                         `unknown field "length"`,
		"matches: {length_seconds: {constant: 1, uniform: [1, 2]}}":                    "one of constant",
		"start_hour: [": "read players",
	} {
		_, err := sim.ReadSpec([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", text, err, want)
		}
	}
}

// FuzzReadSpec reads arbitrary bytes as a specification.
func FuzzReadSpec(f *testing.F) {
	f.Add([]byte("populations: [{tickets_per_minute: 1}]"))
	f.Fuzz(func(_ *testing.T, data []byte) { sim.ReadSpec(data) })
}
