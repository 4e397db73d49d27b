package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/app"
)

// typed runs a command line and gives its exit code and what it printed.
func typed(t *testing.T, ctx context.Context, args ...string) (code int, out, err string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(args, &streams{ctx: ctx, out: &o, err: &e})
	return code, o.String(), e.String()
}

// serverOptions gives what the flags of `serve` make of the world.
func serverOptions(t *testing.T, args ...string) app.Options {
	t.Helper()
	var c commands
	s := &streams{ctx: t.Context(), out: &bytes.Buffer{}, err: &bytes.Buffer{}}
	parser, err := newParser(&c, s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parse(parser, append([]string{"serve"}, args...)); err != nil {
		t.Fatal(err)
	}
	o, err := c.Serve.options(s)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestOptions_Precedence: flag, then variable, then file, then default.
func TestOptions_Precedence(t *testing.T) {
	file := write(t, "listen: 127.0.0.1:1\nregion: eu-west-1\naccount: \"111111111111\"\ndrain-timeout: 3s\n")
	t.Setenv("MUSTER_LISTEN", "127.0.0.1:2")
	t.Setenv("MUSTER_REGION", "eu-west-2")
	o := serverOptions(t, "--config", file, "--listen", "127.0.0.1:3")
	got := []string{o.Listen, o.Region, o.Account, o.DrainTimeout.String(), o.Store}
	if diff := cmp.Diff([]string{"127.0.0.1:3", "eu-west-2", "111111111111", "3s", "sqlite"}, got); diff != "" {
		t.Error(diff)
	}
	t.Setenv("MUSTER_CONFIG", file)
	if o := serverOptions(t); o.Account != "111111111111" || o.Listen != "127.0.0.1:2" {
		t.Errorf("the file that MUSTER_CONFIG names is not read: %+v", o)
	}
}

func TestOptions_Defaults(t *testing.T) {
	o := serverOptions(t)
	got := []string{o.Listen, o.DataDir, o.Store, o.Region, o.Account}
	if diff := cmp.Diff([]string{app.DefaultListen, app.DefaultDataDir, app.DefaultStore, app.DefaultRegion, app.DefaultAccount}, got); diff != "" {
		t.Error(diff)
	}
	if o.AcceptAny || o.Demo != nil {
		t.Error("serve lets anybody in, or runs the demo")
	}
}

// TestOptions_EveryFieldIsAFlag has each flag of the servers set by the file.
func TestOptions_EveryFieldIsAFlag(t *testing.T) {
	for _, text := range []string{
		"listen: 127.0.0.1:0", "data: x", "store: sqlite", "log-format: json", "log-level: debug", "region: us-east-1",
		"account: \"000000000000\"", "public-url: http://a", "tls-min-version: \"1.3\"", "insecure-plain-http: true", "tls: self-signed", "tls-cert: a", "tls-key: a", "record: a", "cell: a",
		"master-key-file: a", "demo: false", "demo-processes: 3", "accept-any-credentials: false",
	} {
		code, _, stderr := typed(t, t.Context(), "local", "--config", write(t, text), "--listen", "nonsense")
		if code != 1 || !strings.Contains(stderr, "HOST:PORT") {
			t.Errorf("%s: %d %s", text, code, stderr)
		}
	}
}

func TestRun_Refuses(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"unknown flag":      {[]string{"local", "--nonsense"}, 2, "--nonsense"},
		"unknown command":   {[]string{"nonsense"}, 2, "nonsense"},
		"unknown field":     {[]string{"serve", "--config", write(t, "lisen: x")}, 2, "lisen"},
		"broken file":       {[]string{"serve", "--config", write(t, "a: [")}, 2, "configuration"},
		"no file":           {[]string{"serve", "--config", "/nowhere.yaml"}, 2, "nowhere"},
		"open to everybody": {[]string{"local", "--listen", "0.0.0.0:0"}, 1, "loopback"},
		"plain, open":       {[]string{"serve", "--listen", "0.0.0.0:0"}, 1, "--insecure-plain-http"},
		"unknown format":    {[]string{"local", "--log-format", "xml"}, 2, "xml"},
		"nobody answers":    {[]string{"fleets", "--endpoint", "http://127.0.0.1:1"}, 1, "127.0.0.1:1"},
	} {
		code, _, stderr := typed(t, t.Context(), c.args...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit %d %q, want %d with %q", name, code, stderr, c.code, c.want)
		}
	}
}

func TestRun_HelpAndVersion(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"local", "--help"}, {"version"}} {
		if code, out, _ := typed(t, t.Context(), args...); code != 0 || !strings.Contains(out, "muster") {
			t.Errorf("%v: exit %d %q", args, code, out)
		}
	}
}

// TestLocal_StopsWell runs `muster local` until it is told to stop.
func TestLocal_StopsWell(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := &readyWatch{ready: make(chan string, 1)}
	ended := make(chan int, 1)
	var log bytes.Buffer
	go func() {
		ended <- run([]string{"local", "--listen", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "d"), "--demo=false", "--log-format", "json"},
			&streams{ctx: ctx, out: out, err: &log})
	}()
	base := <-out.ready
	code, text, stderr := typed(t, t.Context(), "sessions", "--endpoint", base, "-o", "json")
	if code != 0 || strings.TrimSpace(text) != "[]" {
		t.Errorf("sessions: %d %q %q", code, text, stderr)
	}
	cancel()
	if code := <-ended; code != 0 {
		t.Errorf("exit %d after a stop: %s", code, log.String())
	}
	if !strings.Contains(log.String(), `"msg":"api request"`) {
		t.Errorf("no JSON record of the request in %s", log.String())
	}
}

// readyWatch waits for the ready line.
type readyWatch struct{ ready chan string }

func (w *readyWatch) Write(p []byte) (int, error) {
	if rest, ok := strings.CutPrefix(string(p), "ready "); ok {
		w.ready <- strings.TrimSpace(rest)
	}
	return len(p), nil
}

func TestAdmin_KeysAndVerify(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	code, out, stderr := typed(t, t.Context(), "admin", "keys", "create", "backend", "--role", "game-backend", "--data", data)
	if code != 0 || !strings.Contains(out, "AWS_ACCESS_KEY_ID=MSTR") || !strings.Contains(out, "AWS_SECRET_ACCESS_KEY=") {
		t.Fatalf("create: %d %q %q", code, out, stderr)
	}
	_, out, _ = typed(t, t.Context(), "admin", "keys", "list", "--data", data)
	if !strings.Contains(out, "backend") || !strings.Contains(out, "game-backend") {
		t.Errorf("list: %q", out)
	}
	backup := filepath.Join(t.TempDir(), "backup.db")
	if code, out, stderr := typed(t, t.Context(), "admin", "backup", backup, "--data", data); code != 0 || !strings.Contains(out, "master key") {
		t.Errorf("backup: %d %q %q", code, out, stderr)
	}
	_, live, _ := typed(t, t.Context(), "admin", "verify", "--data", data, "-o", "json")
	_, saved, _ := typed(t, t.Context(), "admin", "verify", backup, "--data", filepath.Join(t.TempDir(), "x"), "-o", "json")
	if live == "" || live != saved {
		t.Errorf("verify says %q of the state and %q of its backup", live, saved)
	}
	if code, _, stderr := typed(t, t.Context(), "admin", "restore", backup, "--data", data); code != 1 || stderr == "" {
		t.Errorf("restore over a state: %d %q", code, stderr)
	}
}

func TestCompletion(t *testing.T) {
	for _, c := range []struct{ typed, want string }{
		{"", "local serve agent wrap hosts preflight demo bots beacon fleets sessions queues events placements tickets ruleset simulate admin replay version completion"},
		{"ad", "admin"},
		{"admin keys ", "create list delete"},
		{"serve --li", "--listen"},
		{"completion ", "bash zsh fish"},
		{"nonsense x", ""},
	} {
		_, out, stderr := typed(t, t.Context(), append([]string{"completion", "words", "--"}, strings.Split(c.typed, " ")...)...)
		if got := strings.Join(strings.Fields(out), " "); got != c.want {
			t.Errorf("%q gives %q, want %q %s", c.typed, got, c.want, stderr)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if code, out, _ := typed(t, t.Context(), "completion", shell); code != 0 || !strings.Contains(out, "muster completion words --") {
			t.Errorf("%s: %d %q", shell, code, out)
		}
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "muster.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
