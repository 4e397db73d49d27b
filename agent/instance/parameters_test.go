package instance

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/hosts/protocol"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	w := protocol.Desired{FleetID: "fleet-1", Location: "here"}
	p := placeholders{port: 7, processID: "p", logDir: "/logs", index: 2}
	for _, tt := range []struct {
		in      string
		lenient bool
		want    []string // nil: an error
	}{
		{"", false, []string{}},
		{"-port {{.GamePort}}  -x", false, []string{"-port", "7", "-x"}},
		{"-port={port}", false, []string{"-port=7"}},
		{"{{ProcessId}}/{{.LogDirectory}}/{{.FleetId}}/{{.Location}}/{{.Index}}", false, []string{"p//logs/fleet-1/here/2"}},
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
	if rest, bare := withoutSDK(" {{.NoSDK}} -x"); !bare || rest != " -x" {
		t.Errorf("without SDK: %q, %v", rest, bare)
	}
}
