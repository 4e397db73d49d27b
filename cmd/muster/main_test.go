package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/limit"
	"github.com/musterhq/muster/setup/live"
)

// typed runs a command line and returns its exit code and output.
func typed(t *testing.T, ctx context.Context, args ...string) (code int, out, err string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(args, &streams{ctx: ctx, out: &o, err: &e})
	return code, o.String(), e.String()
}

// done runs a command line that has to succeed, and returns its output.
func done(t *testing.T, args ...string) (out, err string) {
	t.Helper()
	code, out, err := typed(t, t.Context(), args...)
	if code != 0 {
		t.Fatalf("muster %s: exit code %d\n%s%s", strings.Join(args, " "), code, out, err)
	}
	return out, err
}

// serverOptions returns the options for flags of `serve`.
func serverOptions(t *testing.T, args ...string) app.Options {
	t.Helper()
	o, _, err := served(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestOptions_Precedence checks the order: flag, then variable, then file, then default.
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

// Limits are read from the command line and, as pairs or as text, from the file.
func TestOptions_Limits(t *testing.T) {
	want := map[string]limit.Rate{"joins": {PerSecond: 0.5, Burst: 5}, "operator": {PerSecond: 100, Burst: 200}, "agents": limit.Off}
	for name, o := range map[string]app.Options{
		"flag":          serverOptions(t, "--limits", "joins=0.5,operator=100:200", "--limits", "agents=off"),
		"pairs in file": serverOptions(t, "--config", write(t, "limits:\n  joins: 0.5\n  operator: 100:200\n  agents: off\n")),
		"list in file":  serverOptions(t, "--config", write(t, "limits: [joins=0.5, \"operator=100:200\", agents=off]\n")),
	} {
		if diff := cmp.Diff(want, o.Limits); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
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

func TestRun_Refuses(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"unknown flag":       {[]string{"local", "--nonsense"}, 2, "--nonsense"},
		"unknown command":    {[]string{"nonsense"}, 2, "nonsense"},
		"no file":            {[]string{"serve", "--config", "/nowhere.yaml"}, 2, "nowhere"},
		"open to everybody":  {[]string{"local", "--listen", "0.0.0.0:0"}, 1, "loopback"},
		"plain, open":        {[]string{"serve", "--listen", "0.0.0.0:0"}, 1, "--insecure-plain-http"},
		"unknown limit":      {[]string{"serve", "--limits", "backend=5"}, 1, "game-backend, "},
		"limit, no rate":     {[]string{"serve", "--limits", "joins=often"}, 1, `"often" is no rate`},
		"limit, no name":     {[]string{"serve", "--limits", "50"}, 1, "NAME=RATE"},
		"metrics nowhere":    {[]string{"serve", "--metrics-listen", "9100"}, 1, "metrics-listen"},
		"unknown format":     {[]string{"local", "--log-format", "xml"}, 2, "xml"},
		"no such program":    {[]string{"local", "--exec", "no-such-game"}, 1, "neither a file here nor a program in PATH"},
		"no such path":       {[]string{"local", "--no-sdk", "--exec", "./missing"}, 1, "./missing: no such file"},
		"arguments quoted":   {[]string{"local", "--exec", "python3 server.py -v"}, 1, "--exec python3 -- server.py -v"},
		"path with spaces":   {[]string{"local", "--exec", "/My Games/server"}, 1, "nor a program /My; a path with spaces is given in quotes"},
		"not executable":     {[]string{"local", "--exec", write(t, "print(1)")}, 1, "--exec python3 -- /"},
		"address taken":      {[]string{"local", "--demo=false", "--data", t.TempDir(), "--listen", taken(t)}, 1, "choose another address with --listen"},
		"unknown status":     {[]string{"fleets", "--status", "ACTVE"}, 1, `did you mean "ACTIVE"?`},
		"status of ticket":   {[]string{"tickets", "--status", "ACTIVE"}, 1, "QUEUED, SEARCHING"},
		"state of host":      {[]string{"hosts", "--status", "gone"}, 1, "connected, away"},
		"two configurations": {[]string{"tickets", "a", "--configuration", "b"}, 1, "name one configuration"},
		"nobody answers":     {[]string{"fleets", "--endpoint", "http://127.0.0.1:1"}, 1, "127.0.0.1:1"},
	} {
		code, _, stderr := typed(t, t.Context(), c.args...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit %d %q, want %d with %q", name, code, stderr, c.code, c.want)
		}
	}
}

// taken returns an address on which a program listens until the test ends.
func taken(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// A command that is interrupted says so, and not that a request has failed.
func TestRun_Interrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	for _, command := range []string{"fleets", "export"} {
		if code, out, note := typed(t, ctx, command, "--endpoint", server.URL); code != 130 || out != "" || note != "muster: interrupted\n" {
			t.Errorf("%s: exit %d, %s%s", command, code, out, note)
		}
	}
	var note bytes.Buffer
	stopped := &live.Stopped{Err: fmt.Errorf("fleet game: %w", ctx.Err()), State: "State: it serves."}
	if code := (&streams{ctx: ctx, err: &note}).exit(stopped); code != 130 || note.String() != "muster: interrupted\nState: it serves.\n" {
		t.Errorf("deploy: exit %d, %s", code, note.String())
	}
}

// TestLocal_StopsWell runs `muster local` until it is told to stop.
func TestLocal_StopsWell(t *testing.T) {
	base, stop := running(t, "local", "--data", filepath.Join(t.TempDir(), "d"), "--demo=false", "--log-format", "json")
	if out, _ := done(t, "sessions", "--endpoint", base, "-o", "json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("sessions: %q", out)
	}
	if err := (&client.Client{Endpoint: base}).Call(t.Context(), "ListFleets", struct{}{}, nil); err != nil {
		t.Error(err)
	}
	if log := stop(); !strings.Contains(log, `"msg":"api request"`) {
		t.Errorf("no JSON record of the request in %s", log)
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

// serving runs `muster serve` on a data directory until the returned function is called.
func serving(t *testing.T, data string) (base string, stop func() (log string)) {
	t.Helper()
	return running(t, "serve", "--data", data)
}

// running runs a server until the returned function is called, which returns its log.
func running(t *testing.T, args ...string) (base string, stop func() (log string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, ended := &readyWatch{ready: make(chan string, 1)}, make(chan int, 1)
	var log bytes.Buffer
	go func() { ended <- run(append(args, "--listen", "127.0.0.1:0"), &streams{ctx: ctx, out: out, err: &log}) }()
	select {
	case base = <-out.ready:
	case code := <-ended:
		t.Fatalf("%s ended with %d: %s", args[0], code, log.String())
	}
	return base, func() string {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("%s ended with %d: %s", args[0], code, log.String())
		}
		return log.String()
	}
}

// TestAdmin_Keys covers the life of a key on a running server, and then what is possible
// without one.
func TestAdmin_Keys(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	base, stop := serving(t, data)
	ask := func(args ...string) (int, string, string) {
		t.Helper()
		args = append(append([]string{"admin", "keys"}, args...), "--endpoint", base, "--credentials", filepath.Join(data, "admin-credentials"))
		return typed(t, t.Context(), args...)
	}
	if code, _, stderr := ask("create", "backend"); code != 2 || !strings.Contains(stderr, "--role") {
		t.Errorf("create without a role: %d %q", code, stderr)
	}
	if code, _, stderr := ask("create", "backend", "--role", "read-only", "--data", data); code != 1 || !strings.Contains(stderr, "--offline") {
		t.Errorf("create with --data on a running server: %d %q", code, stderr)
	}
	if code, _, stderr := ask("create", "backend", "--role", "game-backend", "--scope", "fleet-1"); code != 1 || !strings.Contains(stderr, "scope") {
		t.Errorf("create with a scope that is none: %d %q", code, stderr)
	}
	code, out, stderr := ask("create", "backend", "--role", "game-backend", "--scope", "arn:aws:gamelift:*:*:fleet/*", "--scope", "team=red", "--expires", "90d", "-o", "json")
	var made struct{ AccessKeyId, SecretAccessKey string }
	if err := json.Unmarshal([]byte(out), &made); code != 0 || err != nil || made.SecretAccessKey == "" {
		t.Fatalf("create: %d %q %q", code, out, stderr)
	}
	code, out, stderr = ask("rotate", made.AccessKeyId, "--old-until", "24h")
	if code != 0 || !strings.Contains(out, "AWS_ACCESS_KEY_ID=MSTR") || strings.Contains(out, made.AccessKeyId) {
		t.Errorf("rotate: %d %q %q", code, out, stderr)
	}
	ok := func(what string) {
		t.Helper()
		if code, _, stderr := ask(what, made.AccessKeyId); code != 0 {
			t.Errorf("%s: %d %q", what, code, stderr)
		}
	}
	ok("disable")
	_, out, _ = ask("list")
	if strings.Count(out, "backend") != 4 || strings.Count(out, "DISABLED") != 1 || !strings.Contains(out, "team=red") || strings.Contains(out, made.SecretAccessKey) {
		t.Errorf("list: %s", out)
	}
	ok("enable")
	ok("delete")
	if code, _, stderr := ask("delete", made.AccessKeyId); code != 1 || !strings.Contains(stderr, "does not exist") {
		t.Errorf("delete again: %d %q", code, stderr)
	}
	file, err := os.ReadFile(filepath.Join(data, "admin-credentials"))
	if err != nil {
		t.Fatal(err)
	}
	if code, out, stderr := typed(t, t.Context(), "admin", "keys", "first", "--data", data); code != 0 || out != string(file) {
		t.Errorf("first: %d %q %q", code, out, stderr)
	}
	stop()
	code, out, stderr = typed(t, t.Context(), "admin", "keys", "create", "emergency", "--role", "admin", "--offline", "--data", data)
	if code != 0 || !strings.Contains(out, "AWS_SECRET_ACCESS_KEY=") {
		t.Errorf("create offline: %d %q %q", code, out, stderr)
	}
	if _, out, _ = typed(t, t.Context(), "admin", "keys", "list", "--offline", "--data", data); !strings.Contains(out, "emergency") || !strings.Contains(out, "first") {
		t.Errorf("list offline: %q", out)
	}
	empty := filepath.Join(t.TempDir(), "none")
	if code, _, stderr := typed(t, t.Context(), "admin", "keys", "list", "--offline", "--data", empty); code != 1 || !strings.Contains(stderr, "holds no state") {
		t.Errorf("list offline where there is nothing: %d %q", code, stderr)
	}
	if code, out, stderr := typed(t, t.Context(), "admin", "keys", "first", "--data", empty); code != 1 || out != "" || !strings.Contains(stderr, "another server of the same state") {
		t.Errorf("first where there is nothing: %d %q %q", code, out, stderr)
	}
	if _, err := os.Stat(empty); err == nil {
		t.Error("offline work made a data directory")
	}
}

func TestAdmin_BackupAndVerify(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	_, stop := serving(t, data)
	stop()
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
	none := filepath.Join(t.TempDir(), "none")
	for _, args := range [][]string{{"backup", filepath.Join(t.TempDir(), "none.db")}, {"verify"}} {
		code, _, stderr := typed(t, t.Context(), append(append([]string{"admin"}, args...), "--data", none)...)
		if code != 1 || !strings.Contains(stderr, none+" holds no state: name the server's with --data") {
			t.Errorf("%s where there is nothing: %d %q", args[0], code, stderr)
		}
	}
}

// What a restored state lacks is said: a backup has no files of builds.
func TestAdmin_MissingBuilds(t *testing.T) {
	data, folder := filepath.Join(t.TempDir(), "data"), t.TempDir()
	base, stop := serving(t, data)
	if err := os.WriteFile(filepath.Join(folder, "game"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := write(t, "Builds: {game: {OperatingSystem: AMAZON_LINUX_2023, Folder: "+folder+"}}\n")
	done(t, "apply", "--yes", "-f", file, "--endpoint", base, "--credentials", filepath.Join(data, "admin-credentials"))
	stop()
	done(t, "admin", "verify", "--data", data)
	backup, other := filepath.Join(t.TempDir(), "backup.db"), filepath.Join(t.TempDir(), "other")
	done(t, "admin", "backup", backup, "--data", data)
	if out, _ := done(t, "admin", "restore", backup, "--data", other); !strings.Contains(out, "The server needs the files of game (build-") {
		t.Errorf("restore: %s", out)
	}
	if code, _, stderr := typed(t, t.Context(), "admin", "verify", "--data", other); code != 1 || !strings.Contains(stderr, "the files of 1 build are not here: game (build-") {
		t.Errorf("verify of what was restored: %d %s", code, stderr)
	}
	if err := os.CopyFS(filepath.Join(other, "blobs"), os.DirFS(filepath.Join(data, "blobs"))); err != nil {
		t.Fatal(err)
	}
	done(t, "admin", "verify", "--data", other)
}

func TestCompletion(t *testing.T) {
	for _, c := range []struct{ typed, want string }{
		{"", "local demo bots login context logout preflight deploy apply export import ruleset simulate wrap status fleets cost sessions queues placements tickets players events webhooks hosts shell ca serve agent beacon health admin replay version completion help"},
		{"ad", "admin"},
		{"admin keys ", "create list first disable enable rotate delete"},
		{"serve --lis", "--listen"},
		{"completion ", "bash zsh fish"},
		{"nonsense x", ""},
	} {
		_, out, stderr := typed(t, t.Context(), append([]string{"completion", "words", "--"}, strings.Split(c.typed, " ")...)...)
		if got := strings.Join(strings.Fields(out), " "); got != c.want {
			t.Errorf("%q is completed by %q, want %q %s", c.typed, got, c.want, stderr)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if code, out, _ := typed(t, t.Context(), "completion", shell); code != 0 || !strings.Contains(out, "muster completion words --") {
			t.Errorf("%s: %d %q", shell, code, out)
		}
	}
}

// write writes a file that only its owner can read, and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
