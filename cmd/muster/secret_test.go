package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/app"
)

// parsed parses a command line, and returns its commands, its streams and what is printed.
func parsed(t *testing.T, args ...string) (c *commands, s *streams, said *bytes.Buffer) {
	t.Helper()
	c, said = &commands{}, &bytes.Buffer{}
	s = &streams{ctx: t.Context(), out: &bytes.Buffer{}, err: said}
	parser, err := newParser(c, s, func(code int) { t.Fatalf("kong exits with %d", code) })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	return c, s, said
}

// served returns the options for flags of `serve`, and what is printed about them.
func served(t *testing.T, args ...string) (o app.Options, said string, err error) {
	t.Helper()
	c, s, out := parsed(t, append([]string{"serve"}, args...)...)
	o, err = c.Serve.ProvideOptions(s)
	return o, out.String(), err
}

// Secrets are read from files as from flags and variables, without the end of the line.
func TestSecrets_FromFiles(t *testing.T) {
	for _, end := range []string{"", "\n", "\r\n", "\n\n"} {
		o := serverOptions(t, "--notify-url", "http://127.0.0.1:1/", "--notify-secret-file", write(t, "s3cret"+end),
			"--store-file", write(t, "postgres://u@db/muster"+end), "--store-password-file", write(t, " pass word"+end))
		if o.Sinks[0].Secrets[0] != "s3cret" || o.Store != "postgres://u@db/muster" || o.StorePassword != " pass word" {
			t.Errorf("with the end %q: %q, %q, %q", end, o.Sinks[0].Secrets, o.Store, o.StorePassword)
		}
	}
	t.Setenv("MUSTER_NOTIFY_SECRET_FILE", write(t, "named by a variable"))
	t.Setenv("MUSTER_STORE", "postgres://u:p@db/muster")
	o := serverOptions(t, "--notify-url", "http://127.0.0.1:1/")
	if o.Sinks[0].Secrets[0] != "named by a variable" || o.Store != "postgres://u:p@db/muster" {
		t.Errorf("from variables: %q, %q", o.Sinks[0].Secrets, o.Store)
	}
}

// An invalid secret is refused with the flag's name, and no error contains a secret.
func TestSecrets_Refused(t *testing.T) {
	good, empty, two := write(t, "s3cret"), write(t, "\ns3cret"), write(t, "s3cret\nmore")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--notify-secret-file", filepath.Join(t.TempDir(), "none")}, "notify-secret-file: open"},
		{[]string{"--notify-secret-file", empty}, "notify-secret-file: the first line"},
		{[]string{"--notify-secret-file", two}, "more than one line"},
		{[]string{"--notify-secret-file", good, "--notify-secret", "s3cret"}, "both given"},
		{[]string{"--store-file", good, "--store", "postgres://u:s3cret@db/d"}, "store and store-file are both given"},
		{[]string{"--store-password-file", empty}, "store-password-file: the first line"},
		{[]string{"--oidc-client-secret-file", two}, "oidc-client-secret-file: "},
	} {
		_, _, err := served(t, append(tt.args, "--notify-url", "http://127.0.0.1:1/")...)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v: %v, want %q", tt.args, err, tt.want)
		}
	}
	if _, err := app.New(app.Options{Store: "mysql://u:s3cret@db/d", DataDir: t.TempDir(), AcceptAny: true, Listen: "127.0.0.1:0"}); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("an unknown store: %v", err)
	}
}

// A file that other users can read is used, with a warning.
func TestSecrets_ReadableByOthers(t *testing.T) {
	t.Parallel()
	path := write(t, "join-1")
	for mode, warned := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o640: false, 0o644: true, 0o604: true} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		c, to, out := parsed(t, "agent", "--server", "http://127.0.0.1:1", "--root", t.TempDir(), "--token-file", path)
		o, err := c.Agent.Run.ProvideOptions(to)
		token, said := o.Token, out.String()
		if err != nil || token != "join-1" || strings.Contains(said, "token-file") != warned || strings.Contains(said, "join-1") {
			t.Errorf("mode %v: %q, %v, said %q; want a warning %v", mode, token, err, said, warned)
		}
	}
}

// A file of sinks that other users can read causes a warning if it contains secrets.
func TestSinks_ReadableByOthers(t *testing.T) {
	t.Parallel()
	const sink = "- name: a\n  kind: webhook\n  url: https://game.example/\n  topics: [all]\n"
	for text, warned := range map[string]bool{sink: false, sink + "  secrets: [\"s3cret\"]\n": true} {
		path := write(t, text)
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		_, said, err := served(t, "--sinks", path)
		if err != nil || strings.Contains(said, "flag=sinks") != warned {
			t.Errorf("%s: %v, said %q", text, err, said)
		}
	}
}

// A machine that has joined no longer needs the file with the token.
func TestAgent_TokenFileIsForTheFirstStart(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	ask := func() error {
		c, s, _ := parsed(t, "agent", "--server", "http://127.0.0.1:1", "--root", root, "--token-file", filepath.Join(root, "none"))
		_, err := c.Agent.Run.ProvideOptions(s)
		return err
	}
	if err := ask(); err == nil || !strings.Contains(err.Error(), "token-file") {
		t.Errorf("before it has joined: %v", err)
	}
	if err := os.WriteFile(filepath.Join(root, "credential.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ask(); err != nil {
		t.Errorf("after it has joined: %v", err)
	}
}
