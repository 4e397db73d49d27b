package terminal_test

import (
	"strings"
	"testing"
)

// A ticket whose match found no place is explained with that, and with why the queue found none,
// while it searches again and once it has timed out.
func TestExplainTicket_NoPlace(t *testing.T) {
	const placement = `{"placement":{"id":"m","queue":"q","status":"TIMED_OUT"},"rounds":[{"free":0}]}`
	for status, rest := range map[string]string{
		"SEARCHING": `,"waiting":{"ticket_id":"t","players":1,"ahead":{}}`,
		"TIMED_OUT": `,"late":{"ticket_id":"t","players":1,"ahead":{}}`,
	} {
		v, out := view(t, canned{
			"/console/api/tickets/t/explain":    {`{"ticket":{"id":"t","configuration":"mm","status":"` + status + `","match_id":"m","unplaced":2,"members":[]}` + rest + `}`},
			"/console/api/placements/m/explain": {placement},
		})
		if err := v.ExplainTicket(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"It was matched 2 times, but no place was free before the queue's timeout.\nPlacement m", "Ticket t of 1 player"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: the explanation lacks %q:\n%s", status, want, out)
			}
		}
	}
}
