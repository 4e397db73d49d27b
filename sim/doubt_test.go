package sim_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/sim"
)

// Attributes that no rule reads and strings that no player has are likely misspelled.
func TestSpec_Doubts(t *testing.T) {
	rules := ruleSetOf(t, "roles") // its default role is damage
	for text, want := range map[string][]string{
		"populations: [{name: eu, tickets_per_minute: 1, attributes: {skil: {number: {constant: 1}}, role: {string: {tank: 1, healer: 1}}}}]": {
			`population eu: the rule set does not declare the attribute skil, so no rule reads it (did you mean "skill"?)`,
		},
		"populations: [{name: eu, tickets_per_minute: 1, attributes: {role: {string: {tank: 1, heeler: 1}}}}]": {
			`no population has role "healer", which the rule Healers counts (did you mean "heeler"?)`,
		},
		"populations: [{name: a, tickets_per_minute: 1, attributes: {role: {string: {tank: 1}}}}, {name: b, tickets_per_minute: 1, attributes: {role: {string: {healer: 1}}}}]": nil,
		"populations: [{name: nobody, tickets_per_minute: 1}]": {
			`no population has role "tank", which the rule Tanks counts`, `no population has role "healer", which the rule Healers counts`,
		},
		"name: a trace": nil,
	} {
		s, err := sim.ReadSpec([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.Doubts(rules)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}
