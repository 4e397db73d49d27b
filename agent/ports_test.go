package agent

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/hosts/protocol"
)

// An agent says so if its ports are enough for fewer instances than it has processors.
func TestFewPorts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		facts protocol.Facts
		want  string
	}{
		{protocol.Facts{CPUMillis: 8000, PortFrom: 20000, PortTo: 20099}, "no more than 1 "},
		{protocol.Facts{CPUMillis: 8000, PortFrom: 20000, PortTo: 20010}, "no more than 1 "},
		{protocol.Facts{CPUMillis: 8000, PortFrom: 20000, PortTo: 20350}, "no more than 3 "},
		{protocol.Facts{CPUMillis: 8000, PortFrom: 20000, PortTo: 29999}, ""},
		{protocol.Facts{CPUMillis: 1000, PortFrom: 20000, PortTo: 20099}, ""},
		{protocol.Facts{CPUMillis: 8000, PortFrom: 20000, PortTo: 20099, NoBuilds: true}, ""},
	} {
		if got := fewPorts(c.facts); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.facts, got, c.want)
		}
	}
}
