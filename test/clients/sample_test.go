package clients

import (
	"bytes"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// samples are the samples of the libraries. Each takes the server's URL, a matchmaker, and a
// file that keeps the login.
var samples = []runtimeRow{
	cpp("", "{source}/sample/duel.cpp"), typescript("sample/duel.mjs"), csharp("", "{source}/Samples~/Console/*.cs"), gdscript("sample/duel.gd"),
}

// Two people run a sample as its comment says, and are to play in the same game. The first
// one starts again, as after a crash, and goes back to that game.
func TestSamples(t *testing.T) {
	for i := range samples {
		t.Run(samples[i].name, func(t *testing.T) { samples[i].sample(t) })
	}
}

var play = regexp.MustCompile(`(?m)^play: (\S+) as (psess-\S+)$`)

func (r *runtimeRow) sample(t *testing.T) {
	r.available(t)
	out := t.TempDir()
	r.compile(t, out)
	url := local(t).URL
	login := filepath.Join(t.TempDir(), "login.json")
	both := [][]string{{url, "demo", login}, {url, "demo"}}
	outputs := make([][]byte, len(both))
	failures := make([]error, len(both))
	var all sync.WaitGroup
	for i, args := range both {
		all.Go(func() { outputs[i], failures[i] = r.output(t, out, args...) })
	}
	all.Wait()
	first, second := play.FindSubmatch(outputs[0]), play.FindSubmatch(outputs[1])
	if errors.Join(failures...) != nil || first == nil || second == nil || !bytes.Equal(first[1], second[1]) || bytes.Equal(first[2], second[2]) {
		t.Fatalf("the samples printed:\n%s\n%s", outputs[0], outputs[1])
	}
	text, err := r.output(t, out, both[0]...)
	if again := play.FindSubmatch(text); err != nil || again == nil || !bytes.Equal(again[0], first[0]) {
		t.Errorf("the sample, started again: %v\n%s\nafter\n%s", err, text, outputs[0])
	}
}

// The tests of the libraries themselves: their JSON, retries, handshakes and token stores, and in
// Godot what is left of clients that are closed or freed, and servers that do not speak HTTP well.
// Those of the C++ library are built as engines build: without exceptions and RTTI, and without
// warnings.
func TestLibraries(t *testing.T) {
	for _, c := range []struct {
		runtimeRow
		least int // tests
	}{
		{csharp("-warnaserror", "{source}/Tests~/Tests.cs"), 10},
		{cpp("-fno-exceptions -fno-rtti -Wall -Wextra -Werror", "{source}/test/*.cpp"), 10},
		{gdscript("test/tests.gd"), 25},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.available(t)
			out := t.TempDir()
			c.compile(t, out)
			var more []string
			if c.name == "c++" {
				more = append(more, filepath.Join(out, "login.json"))
			}
			text, err := c.output(t, out, more...)
			if err != nil || strings.Count("\n"+string(text), "\nok - ") < c.least || scriptFailed(string(text)) {
				t.Errorf("%v:\n%s", err, text)
			}
		})
	}
}

// The adapters for Unity compile against the shape of what they use of it; Unity itself is
// not here.
func TestCSharp_Unity(t *testing.T) {
	r := csharp("-warnaserror -define:UNITY_5_3_OR_NEWER -target:library", "{source}/Tests~/UnityStubs.cs", "{source}/Runtime/Unity/*.cs")
	r.available(t)
	r.compile(t, t.TempDir())
}
