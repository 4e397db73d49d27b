package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/cli/usage"
)

// Each variable has one meaning, and each flag that means the same one name.
func TestVariables_HaveOneMeaning(t *testing.T) {
	// Flags that say the same of a server and of another program beside it.
	alike := []string{
		"MUSTER_CA", "MUSTER_ENDPOINT", "MUSTER_LISTEN", "MUSTER_LOCATION", "MUSTER_INSECURE_PLAIN_HTTP", "MUSTER_TRUSTED_PROXIES", "MUSTER_REGION", "MUSTER_ACCOUNT",
		"MUSTER_CELL", "MUSTER_DATA", "MUSTER_IP", "MUSTER_MASTER_KEY_FILE", "MUSTER_DEMO_SERVER", "MUSTER_OUTPUT", "MUSTER_OTLP_ENDPOINT", "AWS_PROFILE",
	}
	meanings := map[string]usage.Flag{}
	root := program(t)
	for _, c := range root.Leaves() {
		for _, f := range c.Flags {
			for _, v := range f.Variables {
				first, known := meanings[v]
				meanings[v] = f
				if known && (first.Value != f.Value || first.Help != f.Help && !slices.Contains(alike, v)) {
					t.Errorf("%s of %q is %q, and elsewhere %q", v, c.Path, f.Help, first.Help)
				}
			}
			switch {
			case f.Short == "o" && f.Name != "output", f.Name == "output" && f.Value != "WHICH":
				t.Errorf("%q: -o and --output are the format, here %q", c.Path, f.Help)
			case f.Short == "e" && f.Name != "endpoint":
				t.Errorf("%q: -e is --endpoint, here --%s", c.Path, f.Name)
			case f.Name == "for" && len(f.Variables) > 0:
				t.Errorf("%q: --for has the variable %s", c.Path, f.Variables)
			}
		}
	}
	for _, v := range []string{"MUSTER_ENDPOINT", "MUSTER_LISTEN", "MUSTER_TOKEN", "MUSTER_OUTPUT", "MUSTER_STORE"} {
		if _, ok := meanings[v]; !ok {
			t.Errorf("no flag has the variable %s", v)
		}
	}
	for _, v := range []string{"MUSTER_FLEET", "MUSTER_PLAYERS", "MUSTER_FILE", "MUSTER_HTTP_PORT"} {
		if f, ok := meanings[v]; ok {
			t.Errorf("%s sets --%s", v, f.Name)
		}
	}
}

// The error for a file as --output, which is a format, names --out.
func TestOutput_IsNoFile(t *testing.T) {
	for _, line := range []string{"simulate --output report.html", "tickets export mm -o trace.jsonl", "tickets export mm --output trace.jsonl"} {
		if code, _, stderr := typed(t, t.Context(), strings.Fields(line)...); code != 2 || !strings.Contains(stderr, "--out FILE") {
			t.Errorf("%s: %d %s", line, code, stderr)
		}
	}
}

// A variable that is misspelled, or that another server reads, is named once. One of another
// program of this project, or of somebody else, is not.
func TestVariables_Misspelled(t *testing.T) {
	t.Setenv("MUSTER_ENDPIONT", "http://127.0.0.1:2")
	t.Setenv("MUSTER_PORTS", "1-2")                 // of agents
	t.Setenv("MUSTER_GAME_URL", "http://game")      // agents set it for game servers
	t.Setenv("MUSTER_TEST_PLAY", "x")               // of tests
	t.Setenv("MUSTER_FAVORITE_COLOR_OF_ALL", "tan") // of somebody
	for line, want := range map[string]string{
		"sessions --endpoint http://127.0.0.1:1": "muster: the variable MUSTER_ENDPIONT is not read: did you mean MUSTER_ENDPOINT?\n",
		"serve --listen nonsense":                "muster: the variable MUSTER_PORTS is not read here: it is for muster agent\n",
	} {
		_, _, stderr := typed(t, t.Context(), strings.Fields(line)...)
		if !strings.HasPrefix(stderr, want) || strings.Count(stderr, "not read") != 1 {
			t.Errorf("muster %s says %q, want first %q", line, stderr, want)
		}
	}
}

// The variable that says which server commands ask may be set where a server is started: it is
// neither read nor a mistake there, although agents read it as well.
func TestVariables_EndpointBesideServer(t *testing.T) {
	t.Setenv("MUSTER_ENDPOINT", "http://127.0.0.1:9080")
	t.Setenv("MUSTER_PORTS", "1-2") // of agents: still named
	for _, command := range []string{"local", "serve"} {
		_, _, stderr := typed(t, t.Context(), command, "--listen", "nonsense")
		if strings.Contains(stderr, "MUSTER_ENDPOINT") || !strings.Contains(stderr, "MUSTER_PORTS is not read here") {
			t.Errorf("muster %s says %q", command, stderr)
		}
	}
}

// A variable that looks as if it set a flag does not stay unread in silence. One that another
// command has is left to that.
func TestVariables_NotRead(t *testing.T) {
	t.Setenv("MUSTER_FLEET", "live")
	t.Setenv("MUSTER_NAME", "machine-1")
	t.Setenv("MUSTER_SEED", "7")
	t.Setenv("MUSTER_VERSION", "0.1.0") // of the installing script
	_, _, stderr := typed(t, t.Context(), "sessions", "--endpoint", "http://127.0.0.1:1")
	if want := "muster: the variable MUSTER_FLEET, for --fleet, is not read: give the flag\n"; !strings.HasPrefix(stderr, want) || strings.Count(stderr, "not read") != 1 {
		t.Errorf("muster sessions says %q, want first %q", stderr, want)
	}
	for _, line := range []string{"queues --endpoint http://127.0.0.1:1", "login http://127.0.0.1:1 --credentials " + os.DevNull} {
		if _, _, stderr := typed(t, t.Context(), strings.Fields(line)...); strings.Contains(stderr, "not read") {
			t.Errorf("muster %s says %q", line, stderr)
		}
	}
}
