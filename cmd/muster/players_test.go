package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/backend"
)

func TestReadPlayers(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "players.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The example in docs/players.md is valid.
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "players.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/players.md has no example")
	}
	write(example)
	c, err := readYAML[backend.Config]("players", file)
	if err != nil {
		t.Fatal(err)
	}
	if c.AccessLife != 15*time.Minute || len(c.Providers) != 3 || len(c.Matchmakers) != 1 || c.Matchmakers[0].MaxParty != 5 || len(c.Pools) != 1 || c.BeaconKeyFile == "" {
		t.Errorf("got %+v", c)
	}
	write("matchmaker: []")
	if _, err := readYAML[backend.Config]("players", file); err == nil {
		t.Error("a field that does not exist is accepted")
	}
}
