package terminal_test

import (
	"strings"
	"testing"
)

const oneSession = `"GameSessionId":"arn:aws:gamelift:us-east-1::gamesession/fleet-1/gsess-01a2-77ff","Name":"duel","FleetId":"fleet-1","Status":"ACTIVE","CurrentPlayerSessionCount":1,"MaximumPlayerSessionCount":2`

// A game session is shown and ended by the end of its id, or by its name.
func TestSession(t *testing.T) {
	t.Parallel()
	v, out := view(t, canned{
		"/console/api/views/sessions": {`{"data":{"sessions":[{"id":"arn:aws:gamelift:us-east-1::gamesession/fleet-1/gsess-01a2-77ff","name":"duel"}]}}`},
		"DescribeGameSessions":        {`{"GameSessions":[{` + oneSession + `}]}`},
		"DescribePlayerSessions":      {`{"PlayerSessions":[{"PlayerSessionId":"psess-1","PlayerId":"ann","Status":"ACTIVE"}]}`},
		"TerminateGameSession":        {`{}`},
	})
	for _, text := range []string{"77ff", "duel"} {
		if err := v.Session(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	if got := out.String(); strings.Count(got, "1 of 2") != 2 || !strings.Contains(got, "ann     ACTIVE") {
		t.Errorf("the game session is shown as\n%s", got)
	}
	out.Reset()
	if err := v.EndSession(t.Context(), "77ff", false); err != nil || !strings.Contains(out.String(), "gsess-01a2-77ff is told to end") {
		t.Errorf("the end: %q (%v)", out.String(), err)
	}
	if err := v.EndSession(t.Context(), "88ff", true); err == nil || !strings.Contains(err.Error(), "there is no game session") {
		t.Errorf("a game session that is not there: %v", err)
	}
}

func TestTickets(t *testing.T) {
	t.Parallel()
	v, out := view(t, canned{
		"/console/api/views/matchmakers": {`{"data":{"matchmakers":[{"name":"duels"}]}}`},
		"/console/api/views/matchmaker": {`{"data":{"open":[{"id":"t1","configuration":"duels","status":"SEARCHING","started":"2026-01-02T03:04:05Z","players":["a","b","c","d","e"]}],
			"ended":[{"id":"t0","configuration":"duels","status":"COMPLETED","started":"2026-01-02T03:04:05Z","ended":"2026-01-02T03:04:07Z","players":["z"],"session":"arn:x/gsess-9"}]}}`},
	})
	if err := v.Tickets(t.Context(), "", ""); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a b c and 2 more", "COMPLETED  z                 2s", "gsess-9"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the tickets lack %q:\n%s", want, out.String())
		}
	}
	out.Reset()
	if err := v.Tickets(t.Context(), "duels", "searching"); err != nil || strings.Contains(out.String(), "t0") {
		t.Errorf("only tickets that search: %v\n%s", err, out.String())
	}
}
