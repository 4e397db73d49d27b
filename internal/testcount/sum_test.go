package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What several runs append to one file is added up, with the slowest packages of all.
func TestAddUp(t *testing.T) {
	dir := t.TempDir()
	stream, file := filepath.Join(dir, "stream"), filepath.Join(dir, "sum")
	if err := os.WriteFile(stream, []byte(`{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Elapsed":2.5}
{"Action":"pass","Package":"q","Test":"TestB"}
{"Action":"pass","Package":"q","Elapsed":7}
{"Action":"pass","Package":"quick","Test":"TestC"}
{"Action":"pass","Package":"quick","Elapsed":0.1}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := run(options{sum: file, files: []string{stream}}); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	c, err := addUp(file, &out)
	if want := (counts{passed: 6}); err != nil || c != want {
		t.Errorf("got %v, %v, want %v", c, err, want)
	}
	if said := out.String(); !strings.Contains(said, "7.0 s  q\n    7.0 s  q\n    2.5 s  p\n") || strings.Contains(said, "quick") {
		t.Errorf("the slowest are\n%s", said)
	}
	if err := os.WriteFile(file, []byte("counts many\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := addUp(file, &out); err == nil {
		t.Error("a file of something else was added up")
	}
}

// The flaky tests of a whole run, whatever its parts, fail it once they are more than three.
func TestAddUp_Flaky(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sum")
	for text, want := range map[string]counts{
		"counts 5 0 1 2\ncounts 5 0 0 1\n": {passed: 10, skipped: 1, flaky: 3},
		"counts 5 0 1 2\ncounts 5 0 0 2\n": {passed: 6, failed: 4, skipped: 1, flaky: 4},
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if c, err := addUp(file, &out); err != nil || c != want {
			t.Errorf("%q: got %+v, %v, want %+v", text, c, err, want)
		}
	}
}
