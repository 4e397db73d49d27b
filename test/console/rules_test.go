package console

import "testing"

// A change of rules is written with its errors in place, played, cancelled and played again,
// and applied to a configuration.
func TestRulesLab(t *testing.T) {
	needs(t)
	d := startDemo(t)
	run(t, "rules.mjs", task{Base: d.server.URL}, nil)
}
