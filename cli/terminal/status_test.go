package terminal_test

import (
	"strings"
	"testing"
)

// The status of a server without fleets says how to begin; that of one with fleets, how many
// play and wait, where, and what happened.
func TestStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ now, want string }{
		{`{"lights":[{"name":"Place","state":"idle","text":"no game session was asked for"}],"first":true}`, strings.TrimLeft(`
STATUS  PART       NOW
IDLE    placement  no game session was asked for

There is no fleet yet: make one with 'muster apply', or begin with ENDPOINT/docs/ten-minutes.html.
`, "\n")},
		{`{"lights":[{"name":"Match","state":"ok","text":"9 of 10 are matched within 2 s"},{"name":"Place","state":"warn","text":"no process is free"},{"name":"Connect","state":"fail","text":"1 of 2 hosts is away"},{"name":"New","state":"other","text":"of a later release"}],
			"totals":{"players":30,"sessions":4,"waiting":3,"pending":1,"free":0,"hosts":2,"hosts_away":1},
			"locations":[{"location":"custom-lab","state":"warn","reason":"full: no process is free","desired_instances":2,"active_instances":1,"pending_instances":1,"active_server_processes":4,"active_game_sessions":4,"current_player_sessions":30,"maximum_player_sessions":32},{"location":"custom-own","state":"idle"}]}`, strings.TrimLeft(`
STATUS   PART          NOW
OK       matchmaking   9 of 10 are matched within 2 s
WARNING  placement     no process is free
FAILED   game servers  1 of 2 hosts is away
other    New           of a later release

30 players in 4 game sessions; waiting: 3 tickets, 1 placement; 0 more game sessions could start now; 2 hosts, of which 1 away.

STATUS   LOCATION    INSTANCES      PROCESSES  FREE  SESSIONS  PLAYERS  REASON
WARNING  custom-lab  1/2 1 pending  4          0     4         30/32    full: no process is free
IDLE     custom-own  -              0          0     0         0/0      -
`, "\n")},
	} {
		v, out := view(t, canned{"/console/api/views/now": {`{"data":` + c.now + `}`}})
		if err := v.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := strings.ReplaceAll(c.want, "ENDPOINT", v.Client.Endpoint); out.String() != want {
			t.Errorf("got\n%swant\n%s", out.String(), want)
		}
	}
}
