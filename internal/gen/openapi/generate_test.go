package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The types that the server and the client library share match the description.
func TestGenerate_PlayerTypesAreUpToDate(t *testing.T) {
	t.Parallel()
	top := filepath.Join("..", "..", "..")
	text, err := os.ReadFile(filepath.Join(top, "backend", "openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := generate(text, "protocol")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(top, "sdk", "session", "player", "protocol", "types.go"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), string(want)); diff != "" {
		t.Errorf("run go generate ./backend (-there +described):\n%s", diff)
	}
}

func TestGenerate_Refuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"components: {schemas: {A: {properties: {b: {type: tuple}}}}}",
		"components: {schemas: {A: {properties: {b: {type: array}}}}}",
		"components: [",
	} {
		if source, err := generate([]byte(text), "p"); err == nil {
			t.Errorf("%s: gave\n%s", text, source)
		}
	}
}
