package clients

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/musterhq/muster/test/node"
)

// samples are the samples of the libraries. Each takes the server's URL, a matchmaker, and a
// file that keeps the login.
var samples = []runtimeRow{
	{
		name: "c++", source: "clients/cpp", needs: "g++", remedy: "install g++ and libcurl (Debian packages g++ and libcurl4-openssl-dev)",
		build: []string{"g++", "-std=c++17", "-I{source}/include", "-o", "{out}/duel", "{source}/src/*.cpp", "{source}/sample/*.cpp", "-lcurl", "-pthread"},
		run:   []string{"{out}/duel"},
	},
	{
		name: "node", source: "clients/typescript", needs: "node", remedy: "install Node.js 20 or later (Debian package nodejs)",
		run: []string{"node", "{source}/sample/duel.mjs"},
	},
	{
		name: "c#", source: "clients/csharp", needs: "mcs mono", remedy: "install Mono (Debian packages mono-mcs and mono-runtime)",
		build: []string{"mcs", "-langversion:7.2", "-out:{out}/duel.exe", "-r:System.Net.Http.dll", "{source}/Runtime/*.cs", "{source}/Runtime/Generated/*.cs", "{source}/Samples~/Console/*.cs"},
		run:   []string{"mono", "{out}/duel.exe"},
	},
	{
		name: "godot", source: "clients/godot", needs: "godot3-server", remedy: "install Godot 3 (Debian package godot3-server)",
		run: []string{"godot3-server", "--path", "{source}", "--script", "sample/duel.gd"},
	},
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
	server, err := node.Run(node.Path(t), "local", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--demo-players", "0", "--log-level", "warn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the demo's game servers outlive a server that is killed
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	run := func(more ...string) *exec.Cmd {
		args := append(r.expand(t, r.run, out), append([]string{server.URL, "demo"}, more...)...)
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Env = programEnv(out)
		return cmd
	}
	login := filepath.Join(t.TempDir(), "login.json")
	both := []*exec.Cmd{run(login), run()}
	outputs := make([]bytes.Buffer, len(both))
	ended := make(chan error)
	for i, cmd := range both {
		cmd.Stdout, cmd.Stderr = &outputs[i], &outputs[i]
		go func() { ended <- cmd.Run() }()
	}
	failed := false
	for range both {
		failed = <-ended != nil || failed
	}
	first, second := play.FindSubmatch(outputs[0].Bytes()), play.FindSubmatch(outputs[1].Bytes())
	if failed || first == nil || second == nil || !bytes.Equal(first[1], second[1]) || bytes.Equal(first[2], second[2]) {
		t.Fatalf("the samples printed:\n%s\n%s", &outputs[0], &outputs[1])
	}
	text, err := run(login).CombinedOutput()
	if again := play.FindSubmatch(text); err != nil || again == nil || !bytes.Equal(again[0], first[0]) {
		t.Errorf("the sample, started again: %v\n%s\nafter\n%s", err, text, &outputs[0])
	}
}

// The tests of the C# library itself: its JSON, retries and token stores.
func TestCSharp(t *testing.T) {
	r := runtimeRow{
		source: "clients/csharp", needs: "mcs mono", remedy: "install Mono (Debian packages mono-mcs and mono-runtime)",
		build: []string{"mcs", "-langversion:7.2", "-warnaserror", "-out:{out}/tests.exe", "-r:System.Net.Http.dll", "{source}/Tests~/Tests.cs", "{source}/Runtime/*.cs", "{source}/Runtime/Generated/*.cs"},
	}
	r.available(t)
	out := t.TempDir()
	r.compile(t, out)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	text, err := exec.CommandContext(ctx, "mono", filepath.Join(out, "tests.exe")).CombinedOutput()
	if err != nil || strings.Count(string(text), "ok - ") < 10 {
		t.Errorf("%v:\n%s", err, text)
	}
}

// The tests of the C++ library itself: its JSON, handshake and token store. They are built as
// engines build: without exceptions and RTTI, and without warnings.
func TestCPP(t *testing.T) {
	r := runtimeRow{
		source: "clients/cpp", needs: "g++", remedy: "install g++ and libcurl (Debian packages g++ and libcurl4-openssl-dev)",
		build: []string{
			"g++", "-std=c++17", "-fno-exceptions", "-fno-rtti", "-Wall", "-Wextra", "-Werror", "-I{source}/include", "-o", "{out}/tests",
			"{source}/src/*.cpp", "{source}/test/*.cpp", "-lcurl", "-pthread",
		},
	}
	r.available(t)
	out := t.TempDir()
	r.compile(t, out)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	text, err := exec.CommandContext(ctx, filepath.Join(out, "tests"), filepath.Join(out, "login.json")).CombinedOutput()
	if err != nil || strings.Count(string(text), "ok - ") < 10 {
		t.Errorf("%v:\n%s", err, text)
	}
}

// The adapters for Unity compile against the shape of what they use of it; Unity itself is
// not here.
func TestCSharp_Unity(t *testing.T) {
	r := runtimeRow{
		source: "clients/csharp", needs: "mcs", remedy: "install Mono (Debian package mono-mcs)",
		build: []string{
			"mcs", "-langversion:7.2", "-warnaserror", "-define:UNITY_5_3_OR_NEWER", "-target:library", "-out:{out}/unity.dll", "-r:System.Net.Http.dll",
			"{source}/Tests~/UnityStubs.cs", "{source}/Runtime/*.cs", "{source}/Runtime/Generated/*.cs", "{source}/Runtime/Unity/*.cs",
		},
	}
	r.available(t)
	r.compile(t, t.TempDir())
}
