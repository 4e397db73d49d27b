package terminal

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/cli/client"
)

const reason = "no host has joined location custom-a; join one with muster agent, or ask for no instances there"

// An event fits the terminal, and is one line where there is none.
func TestEventLines(t *testing.T) {
	t.Parallel()
	e := client.Event{
		Seq: 7, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local), Code: "FLEET_SCALING_EVENT", FleetID: "fleet-1",
		Message: "Waiting for a host: " + reason, Principal: "KEY",
	}
	whole := "     7  03:04:05.000  FLEET_SCALING_EVENT                 fleet=fleet-1  – Waiting for a host: " + reason + "  (by KEY)"
	for width, want := range map[int][]string{
		0:   {whole},
		300: {whole},
		80: {
			"     7  03:04:05.000  FLEET_SCALING_EVENT fleet=fleet-1 – Waiting for a host: no",
			"                      host has joined location custom-a; join one with muster",
			"                      agent, or ask for no instances there (by KEY)",
		},
	} {
		if diff := cmp.Diff(want, eventLines(e, "15:04:05.000", width)); diff != "" {
			t.Errorf("%d columns: %s", width, diff)
		}
	}
	e.Principal = "process/fleet-1|" + strings.Repeat("x", 200)
	for _, line := range eventLines(e, "15:04:05.000", 80) {
		if columns(line) > 80 {
			t.Errorf("%q does not fit", line)
		}
	}
}

// Text in the last column goes on in that column, or below the row where it is too narrow.
func TestTable_Width(t *testing.T) {
	t.Parallel()
	of := Table{Head: []string{"FLEET", "STATUS", "REASON"}, Rows: [][]string{{"a", "NEW", reason}, {"b", "ACTIVE", ""}, {"c", "ERROR", "short"}}}
	for width, want := range map[int]string{
		0: "FLEET  STATUS  REASON\n" +
			"a      NEW     " + reason + "\n" +
			"b      ACTIVE  \n" +
			"c      ERROR   short\n",
		60: "FLEET  STATUS  REASON\n" +
			"a      NEW     no host has joined location custom-a; join\n" +
			"               one with muster agent, or ask for no\n" +
			"               instances there\n" +
			"b      ACTIVE\n" +
			"c      ERROR   short\n",
		40: "FLEET  STATUS  REASON\n" +
			"a      NEW\n" +
			"    no host has joined location\n" +
			"    custom-a; join one with muster\n" +
			"    agent, or ask for no instances there\n" +
			"b      ACTIVE\n" +
			"c      ERROR   short\n",
	} {
		var out strings.Builder
		if err := (&Terminal{Out: &out, Width: width}).writeTable(of); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%d columns: %s", width, diff)
		}
	}
}
