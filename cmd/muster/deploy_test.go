package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/test/node"
)

// silent returns streams of which nobody reads anything.
func silent(t *testing.T) *streams {
	return (&streams{ctx: t.Context(), out: io.Discard, err: io.Discard}).escaped()
}

// Without a file, a deployment needs the fleet at the server; and what needs the file says how to
// get one.
func TestDeploy_WithoutFile(t *testing.T) {
	server := node.InProcess(t, nil)
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"deploy", "."}, "muster export --out muster.yaml"},
		{[]string{"deploy", ".", "--fleet", "live"}, "the server has no fleet live, nor any other: create it with 'muster apply', from a file (and there is no "},
		{[]string{"deploy", ".", "--fleet", "live", "-f", "other.yaml"}, "other.yaml: no such file"},
	} {
		code, _, stderr := typed(t, t.Context(), append(c.args, "--endpoint", server.URL())...)
		if code != 1 || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit %d, %s\nwant %q in it", c.args, code, stderr, c.want)
		}
	}
}

// The one fleet with a build in the file is meant if none is named.
func TestDeploy_FindsFleet(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "set-up.yaml")
	find := func(text string) (string, error) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := deployCommand{}
		c.File = file
		_, err := c.findFleet(silent(t))
		return c.Fleet, err
	}
	const one = "Builds: {b: {Folder: .}}\nFleets:\n  arena: {Build: b}\n  lab: {ComputeType: ANYWHERE}\n"
	if fleet, err := find(one); fleet != "arena" || err != nil {
		t.Errorf("found %q, %v", fleet, err)
	}
	if _, err := find(one + "  other: {Build: b}\n"); err == nil || !strings.Contains(err.Error(), "2 fleets with a build (arena, other)") {
		t.Errorf("of two fleets: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	c := deployCommand{}
	c.File = file
	if _, err := c.findFleet(silent(t)); err == nil || !strings.Contains(err.Error(), "--fleet NAME") {
		t.Errorf("without a file: %v", err)
	}
	c.Fleet = "named"
	if _, err := c.findFleet(silent(t)); err != nil || c.Fleet != "named" {
		t.Errorf("named: %q, %v", c.Fleet, err)
	}
}
