package instance

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/hosts/protocol"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	w := protocol.Desired{FleetID: "fleet-1", Location: "here"}
	p := placeholders{port: 7, named: map[string]int{"query": 8}, processID: "p", logDir: "/logs", index: 2}
	for _, tt := range []struct {
		in      string
		lenient bool
		want    []string // nil: an error
	}{
		{"", false, []string{}},
		{"-port {{.GamePort}}  -x", false, []string{"-port", "7", "-x"}},
		{"-port={port}", false, []string{"-port=7"}},
		{"{{ProcessId}}/{{.LogDirectory}}/{{.FleetId}}/{{.Location}}/{{.Index}}", false, []string{"p//logs/fleet-1/here/2"}},
		{"{{.Port.query}}:{{Port.query}}", false, []string{"8:8"}},
		{"{{.Port.rcon}}", false, nil},
		{`-map "two words" -name='a b'`, false, []string{"-map", "two words", "-name=a b"}},
		{`it's "open`, false, nil},
		{"{{.Unknown}}", false, nil},
		{"{{.GameSessionId}} {{.GamePort}}", true, []string{"{{.GameSessionId}}", "7"}},
	} {
		got, err := expand(tt.in, tt.lenient, w, p)
		if tt.want == nil && err == nil {
			t.Errorf("%q gives %q, want a refusal", tt.in, got)
		}
		if tt.want != nil && (err != nil || len(got) != len(tt.want) || len(got) > 0 && cmp.Diff(tt.want, got) != "") {
			t.Errorf("%q gives %q, %v; want %q", tt.in, got, err, tt.want)
		}
	}
}

// What stands in the braces are options of the wrapper, in quotes where they need them.
func TestWithoutSDK(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]struct {
		rest    string
		options []string
		bare    bool
	}{
		" {{.NoSDK}} -x": {" -x", nil, true},
		"-x {{.NoSDK}}":  {"-x {{.NoSDK}}", nil, false},
		"{{.NoSDKs}} -x": {"{{.NoSDKs}} -x", nil, false},
		"{{.NoSDK }}":    {"", nil, true},
		"{{.NoSDK":       {"{{.NoSDK", nil, false},
		"{{.NoSDK query=a2s:query}} {{.Port.query}}":                             {" {{.Port.query}}", []string{"--query=a2s:query"}, true},
		`{{.NoSDK ready-line="server }} is up" stop-line='say "bye"'}}-x`:        {"-x", []string{"--ready-line=server }} is up", `--stop-line=say "bye"`}, true},
		"{{.NoSDK ready-after=3s stop-within=1m rcon-port=rcon stop-rcon=quit}}": {"", []string{"--ready-after=3s", "--stop-within=1m", "--rcon-port=rcon", "--stop-rcon=quit"}, true},
	} {
		rest, b, err := withoutSDK(in)
		if err != nil || rest != want.rest || b.is != want.bare || len(b.options)+len(want.options) > 0 && cmp.Diff(want.options, b.options) != "" {
			t.Errorf("%s: %q, %+v, %v; want %+v", in, rest, b, err, want)
		}
		if err := checkParameters(in, protocol.Desired{}); err != nil && want.bare {
			t.Errorf("%s is refused: %v", in, err)
		}
	}
	for in, why := range map[string]string{
		"{{.NoSDK query=a2s":          "not closed",
		"{{.NoSDK watched=1}}":        `"watched=1" is no option`,
		"{{.NoSDK query}}":            "no option with a value",
		"{{.NoSDK query=a2c}}":        "a2s, gamespy",
		"{{.NoSDK ready-line=[}}":     "ready-line: error parsing regexp",
		"{{.NoSDK ready-after=soon}}": "ready-after",
		"{{.NoSDK}} {{.Port.Query}}":  "is no name of a port",
		"{{.NoSDK}} {{.Port.a}}{{.Port.b}}{{.Port.c}}{{.Port.d}}{{.Port.e}}{{.Port.f}}{{.Port.g}}{{.Port.h}}{{.Port.i}}": "9 ports have names",
	} {
		if err := checkParameters(in, protocol.Desired{}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", in, err, why)
		}
	}
}
