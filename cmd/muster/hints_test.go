package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What servers refuse comes with what to do about it.
func TestHints(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	base, stop := serving(t, data)
	defer stop()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	stranger := write(t, "aws_access_key_id = MSTRNOBODY\naws_secret_access_key = x\n")
	for line, want := range map[string]string{
		"fleets -e " + base: "hint: this server needs a key: 'muster login URL'",
		"export -e " + base: "hint: this server needs a key: 'muster login URL'",
		"fleets --credentials " + stranger + " -e " + base: "hint: this server does not have the key",
		"export --credentials " + stranger + " -e " + base: "hint: this server does not have the key",
		"fleets -e " + strings.TrimPrefix(base, "http://"): "hint: begin the server's URL with",
		"fleets -e http://127.0.0.1:1":                     "start one with 'muster local'",
	} {
		if code, _, stderr := typed(t, t.Context(), strings.Fields(line)...); code != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: %d %s, want %q", line, code, stderr, want)
		}
	}
}

// A file that remotes name is looked for beside the file that names it.
func TestRemotes_Paths(t *testing.T) {
	remotes := write(t, "- {name: there, region: eu-west-1, account: '222222222222', endpoint: 'https://127.0.0.1:1', access_key_id: K, secret_file: its.secret, ca: its.pem}\n")
	folder := filepath.Dir(remotes)
	for _, c := range []struct{ file, text, want string }{
		{"its.secret", "s\n", filepath.Join(folder, "its.pem") + ": no such file"},
		{"its.pem", "none", `remotes: "there": ca: ` + filepath.Join(folder, "its.pem") + " has no certificate in PEM"},
	} {
		if err := os.WriteFile(filepath.Join(folder, c.file), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := typed(t, t.Context(), "serve", "--remotes", remotes, "--data", t.TempDir()); code != 1 || !strings.Contains(stderr, c.want) {
			t.Errorf("%d %s, want %q", code, stderr, c.want)
		}
	}
}

// The endpoint that a user set for AWS's tools is not the one that commands use.
func TestHints_EndpointOfAWS(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:19080")
	code, _, problem := typed(t, t.Context(), "fleets", "--endpoint", "http://127.0.0.1:1")
	if code != 1 || !strings.Contains(problem, "set MUSTER_ENDPOINT=http://127.0.0.1:19080") {
		t.Errorf("exit %d, %s", code, problem)
	}
}
