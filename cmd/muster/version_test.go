package main

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/release"
)

// The version is told on its own, with any command, and whatever the environment has.
func TestVersion(t *testing.T) {
	t.Setenv("MUSTER_VERSION", "true") // of a script that says which release it installs
	for _, args := range [][]string{{"--version"}, {"-V"}, {"version"}, {"serve", "--version"}} {
		code, out, err := typed(t, t.Context(), args...)
		if code != 0 || !strings.HasPrefix(out, "muster ") || !strings.Contains(out, runtime.Version()) || strings.Count(out, "\n") != 1 {
			t.Errorf("muster %v: code %d, %q, %q", args, code, out, err)
		}
	}
	_, out, _ := typed(t, t.Context(), "version", "-o", "json")
	var i release.Info
	if err := json.Unmarshal([]byte(out), &i); err != nil || i.Go != runtime.Version() {
		t.Errorf("%q: %v", out, err)
	}
}
