package main

import (
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/agent/isolate"
	"github.com/musterhq/muster/cli/contexts"
)

// TestMain keeps the developer's own contexts out of tests.
func TestMain(m *testing.M) {
	isolate.Enter() // as main does: `muster local` starts this program to isolate others
	os.Setenv(contexts.Variable, os.DevNull)
	os.Exit(m.Run())
}

// twoContexts makes a file of contexts, of which lab is the current one.
func twoContexts(t *testing.T) {
	t.Helper()
	t.Setenv(contexts.Variable, filepath.Join(t.TempDir(), "folder", "contexts.yaml"))
	f, err := contexts.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"prod", "lab"} {
		c := contexts.Context{Endpoint: "https://" + name, Region: name + "-1", AccessKeyID: "K" + name, Secret: "secret"}
		if err := f.Put(name, c); err != nil {
			t.Fatal(err)
		}
	}
}

// targetOf returns which server, key and certificates a command uses with these flags.
func targetOf(t *testing.T, flags string) (*target, error) {
	t.Helper()
	c, _, _ := parsed(t, append([]string{"queues"}, strings.Fields(flags)...)...)
	return c.Queues.target()
}

// TestTarget_Precedence goes through docs/command-line.md: what is said in each place, and
// which server, region and key follow.
func TestTarget_Precedence(t *testing.T) {
	twoContexts(t)
	home := t.TempDir()
	key := filepath.Join(home, "key")
	aws := "[default]\naws_access_key_id = Kdefault\naws_secret_access_key = s\n[studio]\naws_access_key_id = Kstudio\naws_secret_access_key = s\n"
	for name, text := range map[string]string{
		key: "aws_access_key_id = Kfile\naws_secret_access_key = s\n", filepath.Join(home, "credentials"): aws,
		filepath.Join(home, "config"): "[profile studio]\nregion = studio-1\nendpoint_url = https://studio\n[profile cloud]\nregion = cloud-1\n[default]\nregion = default-1\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(home, "credentials"))
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(home, "config"))
	variables := []string{"MUSTER_ENDPOINT", "MUSTER_CONTEXT", "MUSTER_CREDENTIALS", "MUSTER_REGION", "AWS_PROFILE", "AWS_ENDPOINT_URL_GAMELIFT", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}
	for _, c := range []struct{ name, args, env, want string }{
		{"current context", "", "", "https://lab lab-1 Klab"},
		{"context before AWS's key", "", "AWS_ACCESS_KEY_ID=Kenv AWS_SECRET_ACCESS_KEY=s", "https://lab lab-1 Klab"},
		{"endpoint without context", "-e http://x", "", "http://x us-east-1 "},
		{"endpoint of the context", "--endpoint https://LAB/", "", "https://LAB/ lab-1 Klab"},
		{"endpoint and AWS's key", "--endpoint http://x", "AWS_ACCESS_KEY_ID=Kenv AWS_SECRET_ACCESS_KEY=s", "http://x us-east-1 Kenv"},
		{"flag before variable", "--endpoint http://x --region r", "MUSTER_ENDPOINT=http://y MUSTER_REGION=q", "http://x r "},
		{"variable before context", "", "MUSTER_ENDPOINT=http://y MUSTER_CREDENTIALS=" + key, "http://y us-east-1 Kfile"},
		{"named context before variables", "--context prod", "MUSTER_ENDPOINT=http://y MUSTER_CONTEXT=lab MUSTER_CREDENTIALS=" + key, "https://prod prod-1 Kprod"},
		{"flags before the named context", "--context prod --endpoint http://x --credentials " + key, "", "http://x prod-1 Kfile"},
		{"context of a variable", "", "MUSTER_CONTEXT=prod", "https://prod prod-1 Kprod"},
		{"endpoint and context of variables", "", "MUSTER_CONTEXT=prod MUSTER_ENDPOINT=http://y", "http://y prod-1 Kprod"},
		{"AWS's endpoint", "", "AWS_ENDPOINT_URL_GAMELIFT=http://a AWS_ACCESS_KEY_ID=Kenv AWS_SECRET_ACCESS_KEY=s", "http://a us-east-1 Kenv"},
		{"profile with an endpoint", "--profile studio", "MUSTER_ENDPOINT=", "https://studio studio-1 Kstudio"},
		{"profile and endpoint", "--profile studio -e http://x", "", "http://x studio-1 Kstudio"},
		{"variable of a profile, without context", "-e http://x", "AWS_PROFILE=default", "http://x us-east-1 Kdefault"},
		{"variable of a profile", "", "AWS_PROFILE=studio", "https://lab lab-1 Klab"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, name := range variables {
				t.Setenv(name, "")
				os.Unsetenv(name)
			}
			for assignment := range strings.FieldsSeq(c.env) {
				name, value, _ := strings.Cut(assignment, "=")
				t.Setenv(name, value)
			}
			got, err := targetOf(t, c.args)
			if err != nil {
				t.Fatal(err)
			}
			if text := got.Endpoint + " " + got.Region + " " + got.AccessKeyID; text != c.want {
				t.Errorf("the server is %q, want %q", text, c.want)
			}
		})
	}
	if code, _, stderr := typed(t, t.Context(), "queues", "--context", "prd"); code != 1 || !strings.Contains(stderr, `did you mean "prod"`) {
		t.Errorf("a misspelled context: %d %s", code, stderr)
	}
	if code, _, stderr := typed(t, t.Context(), "queues", "--profile", "cloud"); code != 1 || !strings.Contains(stderr, "aws_access_key_id") {
		t.Errorf("a profile without a key: %d %s", code, stderr)
	}
}

// Logging in checks the key with the server and keeps it for its owner alone.
func TestLogin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "muster", "contexts.yaml")
	t.Setenv(contexts.Variable, file)
	data := filepath.Join(t.TempDir(), "data")
	base, stop := serving(t, data)
	defer stop()
	key := filepath.Join(data, "admin-credentials")
	if code, _, stderr := typed(t, t.Context(), "login", base, "--credentials", write(t, "aws_access_key_id = MSTRNOBODY\naws_secret_access_key = x\n")); code != 1 || !strings.Contains(stderr, "not known") {
		t.Errorf("a wrong key: %d %s", code, stderr)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a wrong key is kept")
	}
	code, out, stderr := typed(t, t.Context(), "login", strings.TrimPrefix(base, "http://"), "--name", "lab", "--credentials", key)
	if code != 0 || !strings.Contains(out, "with the role admin") {
		t.Fatalf("login: %d %s %s", code, out, stderr)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of contexts: %v %v", info, err)
	}
	if code, out, stderr := typed(t, t.Context(), "admin", "keys", "list"); code != 0 || !strings.Contains(out, "admin") {
		t.Errorf("a command after login: %d %s %s", code, out, stderr)
	}
	if code, out, _ := typed(t, t.Context(), "context"); code != 0 || !strings.Contains(out, "*  lab") || strings.Contains(out, "secret") {
		t.Errorf("context: %d %s", code, out)
	}
	if _, out, _ := typed(t, t.Context(), "completion", "words", "--", "fleets", "--context", ""); out != "lab\n" {
		t.Errorf("completion of --context is %q", out)
	}
	if code, out, _ := typed(t, t.Context(), "logout"); code != 0 || !strings.Contains(out, "admin keys delete MSTR") {
		t.Errorf("logout: %d %s", code, out)
	}
	if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "MSTR") {
		t.Errorf("after logout the file has %s (%v)", text, err)
	}
	for url, want := range map[string]string{"http://127.0.0.1:1": "no server answers", "ftp://x": "no base URL", "https://x/?q": "no base URL"} {
		if code, _, stderr := typed(t, t.Context(), "login", url, "--credentials", key); code != 1 || !strings.Contains(stderr, want) {
			t.Errorf("login %s: %d %s", url, code, stderr)
		}
	}
}

// AWS's variable and profiles name certificates, which are trusted besides the system's.
func TestTarget_CABundle(t *testing.T) {
	t.Setenv(contexts.Variable, filepath.Join(t.TempDir(), "contexts.yaml"))
	server := httptest.NewTLSServer(nil)
	server.Close()
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	bundle, none := write(t, text), write(t, "no certificate")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", write(t, "[studio]\naws_access_key_id = K\naws_secret_access_key = s\n"))
	t.Setenv("AWS_CONFIG_FILE", write(t, "[profile studio]\nca_bundle = "+bundle+"\n"))
	missing := filepath.Join(t.TempDir(), "missing")
	for _, c := range []struct{ args, variable, want string }{
		{"", "", ""}, {"", bundle, text}, {"", none, ""}, {"", missing, ""},
		{"--profile studio", none, text}, {"--ca " + none, bundle, "no certificate"},
	} {
		t.Setenv("AWS_CA_BUNDLE", c.variable)
		if got, err := targetOf(t, c.args); err != nil || got.CA != c.want {
			t.Errorf("%q with AWS_CA_BUNDLE=%s: %v, trusted is %q", c.args, c.variable, err, got.CA)
		}
	}
	t.Setenv("AWS_CONFIG_FILE", write(t, "[profile studio]\nca_bundle = "+missing+"\n"))
	if code, _, errs := typed(t, t.Context(), "queues", "--profile", "studio"); code != 1 || !strings.Contains(errs, "read the ca_bundle of the profile studio") {
		t.Errorf("a profile without the file that it names: %d %s", code, errs)
	}
	t.Setenv("AWS_PROFILE", "studio") // for AWS alone, perhaps
	if got, err := targetOf(t, ""); err != nil || got.AccessKeyID != "K" {
		t.Errorf("AWS_PROFILE of such a profile: %+v, %v", got, err)
	}
}
