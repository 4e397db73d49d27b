package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
		_, err := c.findFleet(quietly)
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
	if _, err := c.findFleet(quietly); err == nil || !strings.Contains(err.Error(), "--fleet NAME") {
		t.Errorf("without a file: %v", err)
	}
	c.Fleet = "named"
	if _, err := c.findFleet(quietly); err != nil || c.Fleet != "named" {
		t.Errorf("named: %q, %v", c.Fleet, err)
	}
}
