package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Capacities that the server would refuse, once other things are done, are mistakes in the file.
func TestParse_Capacity(t *testing.T) {
	t.Parallel()
	for capacity, want := range map[string]string{
		"{MinSize: 1, MaxSize: 3, DesiredInstances: 2}": "",
		"{DesiredInstances: 5}":                         "",
		"{MinSize: 0, MaxSize: 1, DesiredInstances: 2}": "DesiredInstances 2 is above MaxSize 1",
		"{MinSize: 2, MaxSize: 3, DesiredInstances: 1}": "DesiredInstances 1 is below MinSize 2",
		"{MinSize: 2, MaxSize: 1}":                      "MinSize 2 is above MaxSize 1",
		"{MinSize: -1}":                                 "the number of instances cannot be less than 0",
		"{MinSize: 2, MaxSize: 3, DesiredInstances: 0, ManagedCapacityConfiguration: {ZeroCapacityStrategy: SCALE_TO_AND_FROM_ZERO}}": "",
	} {
		for _, place := range []string{"HomeRegion: ", "Locations: {custom-lab: {}, custom-lap: "} {
			text := "Builds: {game: {}}\nFleets:\n  game:\n    Build: game\n    " + place + capacity
			at := "Fleets.game.HomeRegion"
			if strings.HasSuffix(place, "custom-lap: ") {
				text += "}"
				at = "Fleets.game.Locations.custom-lap"
			}
			_, err := Parse("muster.yaml", []byte(text))
			if want == "" && err != nil || want != "" && (err == nil || err.Error() != "muster.yaml:5: "+at+": "+want) {
				t.Errorf("%s%s: %v, want %q", place, capacity, err, want)
			}
		}
	}
}

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
