package js

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/musterhq/muster/test/story"
)

// The story runs in a copy of this folder, so that npm installs no packages here.
func TestStory(t *testing.T) {
	story.Needs(t, "node", "Node.js is missing; install nodejs to run this")
	story.Needs(t, "npm", "npm is missing; install npm to run this")
	stage := story.New(t)
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", "story.mjs"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	install := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	for _, protocol := range []string{"json", "cbor"} {
		t.Run(protocol, func(t *testing.T) {
			stage.Play(t, nil, "node", filepath.Join(dir, "story.mjs"), protocol)
		})
	}
}
