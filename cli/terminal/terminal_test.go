package terminal_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
)

// canned answers each operation with pages of JSON, chosen by NextToken.
type canned map[string][]string

func (c canned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct{ NextToken string }
	body, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(body, &in); err != nil && r.Method != http.MethodGet {
		http.Error(w, err.Error(), 400)
		return
	}
	pages := c[strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "GameLift.")]
	if r.Method == http.MethodGet {
		pages = c[r.URL.Path]
	}
	page := len(in.NextToken)
	if page >= len(pages) {
		http.Error(w, "no such page", 400)
		return
	}
	io.WriteString(w, pages[page])
}

func view(t *testing.T, answers canned) (*terminal.Terminal, *strings.Builder) {
	t.Helper()
	server := httptest.NewServer(answers)
	t.Cleanup(server.Close)
	var out strings.Builder
	return &terminal.Terminal{Client: &client.Client{Endpoint: server.URL}, Out: &out}, &out
}

var answers = canned{
	"DescribeFleetAttributes": {
		`{"FleetAttributes":[{"FleetId":"fleet-1","Name":"one","Status":"ACTIVE","ComputeType":"ANYWHERE"}],"NextToken":"x"}`,
		`{"FleetAttributes":[{"FleetId":"fleet-2","Name":"two","Status":"ERROR","ComputeType":"EC2"}]}`,
	},
	"/console/api/fleets": {
		`[{"id":"fleet-1","name":"one","status":"ACTIVE","compute_type":"ANYWHERE","active_server_processes":4,"active_game_sessions":2,"current_player_sessions":5,"maximum_player_sessions":8,
		   "locations":[{"location":"custom-a","status":"ACTIVE","active_server_processes":4,"active_game_sessions":2,"current_player_sessions":5,"maximum_player_sessions":8}]},
		  {"id":"fleet-2","name":"two","status":"ERROR","compute_type":"EC2","desired_instances":5,"active_instances":3,"idle_instances":1,"pending_instances":2,
		   "locations":[{"location":"us-east-1","status":"ACTIVE","desired_instances":3,"active_instances":3,"idle_instances":1},{"location":"custom-b","status":"NEW","desired_instances":2,"pending_instances":2,"reason":"no host"}]}]`,
	},
	"/console/api/processes": {`[{"id":"p","fleet_id":"fleet-1","host":"rack-7","game_session_id":"arn:aws:gamelift:us-east-1::gamesession/fleet-1/custom-a/gsess-1"}]`},
	"DescribeGameSessions": {
		`{"GameSessions":[{"GameSessionId":"arn:aws:gamelift:us-east-1::gamesession/fleet-1/custom-a/gsess-1","FleetId":"fleet-1","Name":"a","Status":"ACTIVE","CurrentPlayerSessionCount":1,"MaximumPlayerSessionCount":4,"IpAddress":"10.0.0.1","Port":7777,"Location":"custom-a"}]}`,
	},
}

// fields returns the words of each line of a table, so that tests do not depend on its
// padding.
func fields(text string) [][]string {
	var rows [][]string
	for line := range strings.Lines(text) {
		rows = append(rows, strings.Fields(line))
	}
	return rows
}

func TestFleets(t *testing.T) {
	t.Parallel()
	v, out := view(t, answers)
	if err := v.Fleets(t.Context(), terminal.FleetFilter{}); err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"FLEET", "NAME", "STATUS", "TYPE", "INSTANCES", "PROCESSES", "SESSIONS", "PLAYERS", "AGE", "REASON"},
		{"fleet-1", "one", "ACTIVE", "ANYWHERE", "-", "4", "2", "5/8", "-"},
		{"fleet-2", "two", "ERROR", "EC2", "3/5", "1", "idle", "2", "pending", "0", "0", "0/0", "-", "custom-b:", "no", "host"},
	}
	if diff := cmp.Diff(want, fields(out.String())); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	if err := v.Fleets(t.Context(), terminal.FleetFilter{ByLocation: true}); err != nil {
		t.Fatal(err)
	}
	want = [][]string{
		{"FLEET", "NAME", "STATUS", "LOCATION", "INSTANCES", "PROCESSES", "SESSIONS", "PLAYERS", "AGE", "REASON"},
		{"fleet-1", "one", "ACTIVE", "custom-a", "-", "4", "2", "5/8", "-"},
		{"fleet-2", "two", "ACTIVE", "us-east-1", "3/3", "1", "idle", "0", "0", "0/0", "-"},
		{"fleet-2", "two", "NEW", "custom-b", "0/2", "2", "pending", "0", "0", "0/0", "-", "no", "host"},
	}
	if diff := cmp.Diff(want, fields(out.String())); diff != "" {
		t.Error(diff)
	}
}

func TestFleets_Filter(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]terminal.FleetFilter{
		"fleet-1":           {Status: "active"},
		"fleet-2 custom-b":  {Status: "NEW", ByLocation: true},
		"fleet-2":           {Location: "custom-b"},
		"fleet-2 us-east-1": {Location: "us-east-1", ByLocation: true},
		"fleet-1 fleet-2":   {},
		"":                  {Status: "ERROR", Location: "custom-a"},
	} {
		v, out := view(t, answers)
		if err := v.Fleets(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range fields(out.String())[1:] {
			got = append(got, row[0])
			if f.ByLocation {
				got = append(got, row[3])
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%+v shows %q, want %s", f, got, want)
		}
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	one := maps.Clone(answers)
	one["/console/api/fleets"] = []string{`[{"id":"fleet-1","name":"one","status":"ACTIVE","compute_type":"ANYWHERE"}]`}
	v, out := view(t, one)
	if err := v.Sessions(t.Context(), terminal.SessionFilter{}); err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"SESSION", "NAME", "STATUS", "PLAYERS", "ADDRESS", "FLEET", "LOCATION", "HOST", "AGE"},
		{"gsess-1", "a", "ACTIVE", "1/4", "10.0.0.1:7777", "one", "custom-a", "rack-7", "-"},
	}
	if diff := cmp.Diff(want, fields(out.String())); diff != "" {
		t.Error(diff)
	}
}

func TestSessions_JSON(t *testing.T) {
	t.Parallel()
	v, out := view(t, answers)
	v.JSON = true
	if err := v.Sessions(t.Context(), terminal.SessionFilter{FleetID: "fleet-1"}); err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	if err := json.Unmarshal([]byte(out.String()), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 || list[0]["Status"] != "ACTIVE" || list[0]["Port"] != 7777.0 {
		t.Errorf("got %v", list)
	}
}

// TestWatch checks that a watch prints repeatedly until its context ends, and then
// returns no error.
func TestWatch(t *testing.T) {
	t.Parallel()
	v, _ := view(t, answers)
	ctx, cancel := context.WithCancel(t.Context())
	shown := &counter{until: 3, reached: cancel}
	v.Watch, v.Out, v.JSON = time.Millisecond, shown, true
	if err := v.Fleets(ctx, terminal.FleetFilter{}); err != nil {
		t.Errorf("a watch that was stopped returned %v", err)
	}
	if shown.n < 3 {
		t.Errorf("shown %d times", shown.n)
	}
}

// counter counts writes and calls reached at the one numbered until.
type counter struct {
	n, until int
	reached  func()
}

func (c *counter) Write(p []byte) (int, error) {
	if c.n++; c.n == c.until {
		c.reached()
	}
	return len(p), nil
}

func TestEvents(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.Query().Get("after"); got != "6" {
			t.Errorf("after is %q", got)
		}
		io.WriteString(w, `{"seq":7,"code":"SERVER_PROCESS_CRASHED","fleet_id":"fleet-1","compute_name":"host","process_id":"p","game_session_id":"arn:x/y/gsess-1","message":"ended with code 3","principal":"KEY"}`+"\n\n")
	}))
	defer server.Close()
	var out strings.Builder
	v := &terminal.Terminal{Client: &client.Client{Endpoint: server.URL}, Out: &out}
	if some, err := v.Events(t.Context(), client.EventQuery{After: 6}); err != nil || !some {
		t.Fatal(err)
	}
	got := strings.Fields(out.String())
	want := strings.Fields("7 TIME SERVER_PROCESS_CRASHED fleet=fleet-1 compute=host process=p session=gsess-1 – ended with code 3 (by KEY)")
	got[1] = "TIME"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPlay_NoFleet(t *testing.T) {
	t.Parallel()
	v, _ := view(t, answers)
	err := v.Play(t.Context(), terminal.PlayOptions{Fleet: "two", Players: 1})
	if err == nil || !strings.Contains(err.Error(), `no ACTIVE fleet "two"`) {
		t.Errorf("play on a fleet that is being deleted returned %v", err)
	}
}
