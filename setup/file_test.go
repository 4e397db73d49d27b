package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A bundle that somebody hands over makes nobody read, and upload, files outside of it.
func TestLoadBundled(t *testing.T) {
	outer := t.TempDir()
	dir := filepath.Join(outer, "bundle")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join(outer, "secret"), filepath.Join(dir, "rules.json")} {
		if err := os.WriteFile(file, []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	load := func(text string) error {
		path := filepath.Join(dir, "muster.yaml")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := LoadBundled(path)
		return err
	}
	for _, text := range []string{
		"Builds:\n  game:\n    Folder: /etc\n",
		"Builds:\n  game:\n    Archive: ../secret\n",
		"MatchmakingRuleSets:\n  duel:\n    RuleSetFile: ../secret\n",
	} {
		if err := load(text); err == nil || !strings.Contains(err.Error(), "is not in the bundle") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := load("Builds:\n  game:\n    Archive: builds/build-1\nMatchmakingRuleSets:\n  duel:\n    RuleSetFile: rules.json\n"); err != nil {
		t.Error(err)
	}
}
