package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The tests of a module of its own, each of which counts how many times it ran: one fails at
// its first run, one at its second as well, one at its first and third, and one with a subtest.
const trial = `package trial

import (
	"os"
	"testing"
)

func run(t *testing.T, failing ...int) {
	t.Helper()
	name := t.Name()[:5] + ".runs"
	text, _ := os.ReadFile(name)
	if err := os.WriteFile(name, append(text, '.'), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, n := range failing {
		if len(text)+1 == n {
			t.Fatalf("run %d fails", n)
		}
	}
}

func TestA(t *testing.T) { run(t, 1) }
func TestB(t *testing.T) { run(t, 1, 2) }
func TestC(t *testing.T) { run(t, 1, 3) }
func TestD(t *testing.T) { t.Run("x", func(t *testing.T) { run(t, 1) }); t.Run("y", func(t *testing.T) {}) }
func TestE(t *testing.T) { run(t) }
`

// ended is the test of a package whose program ends in its first run before the last test.
const ended = `package ended

import (
	"os"
	"testing"
)

func TestA(t *testing.T) {
	if _, err := os.Stat("ran"); err != nil {
		if err := os.WriteFile("ran", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		panic("the first run")
	}
}

func TestB(t *testing.T) {}
`

// A failed test passes if it passes twice more alone; what has failed for good stays failed.
func TestRepeat(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  counts
		flaky []string
		not   string
	}{
		"tests that fail once, twice, and again":   {map[string]string{"a_test.go": trial}, counts{passed: 4, failed: 2, flaky: 2}, []string{"trial TestA", "trial TestD", "run 1 fails"}, "FLAKY: trial TestB"},
		"a program that ends before its last test": {map[string]string{"a_test.go": ended}, counts{passed: 2, flaky: 1}, []string{"FLAKY: trial", "panic: the first run"}, "FLAKY: trial TestA"},
		"a package that does not build":            {map[string]string{"a_test.go": "package a\nfunc missing() { other() }\n"}, counts{failed: 1}, nil, "again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c.files["go.mod"] = "module trial\n\ngo 1.26\n"
			for file, text := range c.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			test := fmt.Sprintf("env GOWORK=off go -C %s test -json -vet=off", dir)
			first, err := commandRunner(test)(".", "")
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			r := newReport(&out)
			if err := r.read(first); err != nil {
				t.Fatal(err)
			}
			again := commandRunner(test)
			if err := r.repeat(func(pkg, test string) (io.Reader, error) {
				if pkg != "trial" {
					t.Errorf("package %q is run again", pkg)
				}
				return again(".", test)
			}); err != nil {
				t.Fatal(err)
			}
			if r.counts != c.want {
				t.Errorf("got %+v, want %+v", r.counts, c.want)
			}
			for _, text := range c.flaky {
				if _, flaky, _ := strings.Cut(out.String(), "\nFLAKY"); !strings.Contains(flaky, text) {
					t.Errorf("the block FLAKY lacks %q", text)
				}
			}
			if strings.Contains(out.String(), c.not) {
				t.Errorf("the output has %q", c.not)
			}
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
}

// A data race stays a failure, though the test passes another time.
func TestRepeat_DataRace(t *testing.T) {
	for _, stream := range []string{
		`{"Action":"output","Package":"p","Test":"TestA","Output":"WARNING: DATA RACE\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    testing.go:1: race detected during execution of test\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"FAIL\n"}
{"Action":"fail","Package":"p"}`,
		`{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"WARNING: DATA RACE\n"}
{"Action":"fail","Package":"p"}`,
	} {
		r := newReport(io.Discard)
		if err := r.read(strings.NewReader(stream)); err != nil {
			t.Fatal(err)
		}
		if err := r.repeat(func(string, string) (io.Reader, error) {
			t.Error("it is run again")
			return nil, exec.ErrNotFound
		}); err != nil {
			t.Fatal(err)
		}
		if r.counts.failed != 1 || r.counts.flaky != 0 {
			t.Errorf("got %+v, want one failure", r.counts)
		}
	}
}

// Many failures at once are no chance, and are not run again.
func TestRepeat_TooMany(t *testing.T) {
	var stream bytes.Buffer
	for i := range mostRepeated + 1 {
		fmt.Fprintf(&stream, `{"Action":"fail","Package":"p","Test":"Test%d"}`+"\n", i)
	}
	fmt.Fprintln(&stream, `{"Action":"output","Package":"p","Output":"FAIL\n"}`)
	fmt.Fprintln(&stream, `{"Action":"fail","Package":"p"}`)
	r := newReport(io.Discard)
	if err := r.read(&stream); err != nil {
		t.Fatal(err)
	}
	if err := r.repeat(func(string, string) (io.Reader, error) {
		t.Error("a test is run again")
		return nil, exec.ErrNotFound
	}); err != nil {
		t.Fatal(err)
	}
	if want := (counts{failed: mostRepeated + 1}); r.counts != want {
		t.Errorf("got %v, want %v", r.counts, want)
	}
}
