package main

import (
	"fmt"
	"strings"
	"testing"
)

// Each kind of YAML file, with the command that reads it: a misspelled key and a wrong value are
// named with the file, the line, and what was meant or has to be there.
func TestYAMLFiles_Mistakes(t *testing.T) {
	kinds := map[string]string{ // by name: the command; %s is the file
		"configuration":          "serve --config %s --data none",
		"configuration of local": "local --config %s --data none",
		"configuration of admin": "admin verify --config %s --data none",
		"sinks":                  "serve --data none --sinks %s",
		"remotes":                "serve --data none --remotes %s",
		"prices":                 "serve --data none --prices %s",
		"players":                "serve --data none --players-file %s",
		"simulation":             "simulate --ruleset " + simRules + " --players %s",
		"set-up":                 "apply --plan -f %s",
		"contexts":               "context",
	}
	tested := map[string]bool{}
	for _, c := range []struct{ kind, text, want string }{
		{"configuration", "region: us-east-1\npublic-ulr: http://a\n", `:2: unknown key "public-ulr" (did you mean "public-url"?)`},
		{"configuration", "players: p.yaml\n", `:1: unknown key "players" (did you mean "players-file"?)`}, // --players is of other commands
		{"configuration", "a: [", `:2: this is not YAML: `},
		{"configuration", "region: us-east-1\ndrain-timeout: soon\n", `:2: drain-timeout: expected duration but got "soon"`},
		{"configuration", "log-level: deubg\n", `:1: log-level: "deubg" is not one of debug, info, warn, error (did you mean "debug"?)`},
		{"configuration", "\nregion: [a, [b]]\n", `:2: region: each element of the list must be one value`},
		{"configuration", "\nlimits: {joins: often}\n", `:2: limits: joins: "often" is no rate`},
		{"configuration", "\nlimits: {joinz: 5}\n", `:2: limits: there is no limit "joinz" (did you mean "joins"?)`},
		{"configuration", "\n\nlisten: nonsense\n", `:3: listen: "nonsense" is no HOST:PORT`},
		{"configuration", "- region\n", `:1: the file must have keys and values`},
		{"configuration", "region: a\nregion: b\n", `:2: key "region" is there twice; it is in line 1 too`},
		{"configuration", "oidc-rules: {ops: operator, a: read-only}\n", `:1: oidc-rules: must be a list`}, // their order counts
		{"configuration of local", "demo-proceses: 3\n", `:1: unknown key "demo-proceses" (did you mean "demo-processes"?)`},
		{"configuration of local", "demo-processes: many\n", `:1: demo-processes: `},
		{"configuration of admin", "master-key: a\n", `:1: unknown key "master-key" (did you mean "master-key-file"?)`},
		{"sinks", "- name: a\n  kind: webhook\n  ulr: http://127.0.0.1:1\n", `:3: unknown key "ulr"; did you mean "url"?`},
		{"sinks", "- name: a\n  raw: maybe\n", `:2: raw is "maybe"; it must be true or false`},
		{"sinks", "name: a\nkind: log\n", `:1: the file must be a list: each element begins with "- name: "`},
		{"sinks", "- a\n", `:1: each element must have keys and values: it begins with "- name: "`},
		{"sinks", "- name: a\n  timeout: 5\n", `:2: timeout is "5"; it must be a duration, such as 30s, 5m or 24h`},
		{"sinks", "- name: a\n  topics: all\n", `:2: topics must be a list: `},
		{"remotes", "- name: a\n  endpiont: http://127.0.0.1:1\n", `:2: unknown key "endpiont"; did you mean "endpoint"?`},
		{"remotes", "name: a\n", `:1: the file must be a list: each element begins with "- name: "`},
		{"prices", "currency: EUR\ninstances:\n- type: c5.large\n  huor: 1\n", `:4: unknown key "huor" in instances[0]; did you mean "hour"?`},
		{"prices", "instances:\n- type: c5.large\n  hour: cheap\n", `:3: instances[0].hour is "cheap"; it must be a number`},
		{"players", "matchmaker: []\n", `:1: unknown key "matchmaker"; did you mean "matchmakers"?`},
		{"players", "limits:\n  socket: 3\n", `:2: unknown key "socket" in limits; did you mean "sockets"?`},
		{"players", "limits:\n  sockets: 3.5\n", `:2: limits.sockets is "3.5"; it must be a whole number`},
		{"players", "access_life: 5 days\nproviders: {a: b}\n", `:2: providers must be a list: each element begins with "- name: "`},
		{"simulation", "populations:\n- name: all\n  ticket_per_minute: 3\n", `:3: unknown key "ticket_per_minute" in populations[0]; did you mean "tickets_per_minute"?`},
		{"simulation", "populations:\n- name: all\n  tickets_per_minute: often\n", `:3: populations[0].tickets_per_minute is "often"; a rate is a number, or`},
		{"simulation", "populations:\n  name: all\n", `:2: populations must be a list: each element begins with "- name: "`},
		{"simulation", "{\n\"matchmaking\": {\"backfil\": 1}}", `:2: unknown key "backfil" in matchmaking; did you mean "backfill"?`},
		{"set-up", "Fleet:\n  a: {ComputeType: ANYWHERE}\n", `:1: unknown key "Fleet"; did you mean "Fleets"?`},
		{"set-up", "Fleets:\n  arena: {ComputeType: ANYWHERE}\nAliases:\n  live:\n    Fleet: aren\n", `:5: Aliases.live.Fleet: "aren" is not in the file; did you mean "arena"?`},
		{"set-up", "Aliases:\n  live:\n    Fleet: aren\n", `:3: Aliases.live.Fleet: "aren" is not in the file, nor any other of its kind`},
		{"set-up", "Fleets: [a]\n", `:1: Fleets must have keys and values`},
		{"contexts", "current: a\ncontexts:\n  a: {endpiont: http://a}\n", `:3: unknown key "endpiont" in contexts.a; did you mean "endpoint"?`},
		{"contexts", "contexts: [a]\n", `:1: contexts must have keys and values`},
	} {
		tested[c.kind] = true
		file := write(t, c.text)
		t.Setenv("MUSTER_CONTEXTS", file)
		line := kinds[c.kind]
		if strings.Contains(line, "%s") {
			t.Setenv("MUSTER_CONTEXTS", "none.yaml")
			line = fmt.Sprintf(line, file)
		}
		code, _, stderr := typed(t, t.Context(), strings.Fields(line)...)
		if code == 0 || !strings.Contains(stderr, file+c.want) || strings.Contains(stderr, "cannot construct") || strings.Contains(stderr, "Go ") {
			t.Errorf("%s with %q: exit %d, %s want %s", c.kind, c.text, code, stderr, file+c.want)
		}
	}
	for kind := range kinds {
		if !tested[kind] {
			t.Errorf("%s is not tested", kind)
		}
	}
}

// What is not wrong with a file is taken: numbers as they are written, null for the default, and anchors.
func TestConfig_Values(t *testing.T) {
	o := serverOptions(t, "--config", write(t, "account: 012345678901\nlog-level:\nhost-grace: &t 20s\ndrain-timeout: *t\nmax-streams: 0x10\ninsecure-plain-http: true\ntls-min-version: \"1.3\"\n"))
	if o.Account != "012345678901" || o.DrainTimeout.String() != "20s" || o.MaxStreams != 16 || !o.InsecurePlainHTTP || o.TLSMinVersion != "1.3" {
		t.Errorf("the options are %+v", o)
	}
}

// An error that is about no field, or about one that a flag overrules, names no line.
func TestConfig_OtherErrors(t *testing.T) {
	file := write(t, "listen: 127.0.0.1:0\nregion: us-east-1\n")
	_, _, stderr := typed(t, t.Context(), "serve", "--config", file, "--listen", "nonsense", "--data", "none")
	if !strings.Contains(stderr, `muster: listen: "nonsense"`) {
		t.Errorf("got %s", stderr)
	}
}
