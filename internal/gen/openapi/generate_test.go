package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The types of the server and of the client library match the description.
func TestGenerate_PlayerTypesAreUpToDate(t *testing.T) {
	t.Parallel()
	top := filepath.Join("..", "..", "..")
	text, err := os.ReadFile(filepath.Join(top, "backend", "protocol", "openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for folder, std := range map[string]bool{"backend/protocol": false, "sdk/session/player/protocol": true} {
		want, err := generate(text, "protocol", std)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(folder), "types.go"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(got), string(want)); diff != "" {
			t.Errorf("run go generate ./backend/protocol: %s (-there +described):\n%s", folder, diff)
		}
	}
}

func TestGenerate_Refuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"components: {schemas: {A: {properties: {b: {type: tuple}}}}}",
		"components: {schemas: {A: {properties: {b: {type: array}}}}}",
		"components: [",
	} {
		if source, err := generate([]byte(text), "p", false); err == nil {
			t.Errorf("%s: gave\n%s", text, source)
		}
	}
}
