package conformance

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// Running sessions are counted over all locations, pending ones have a reason with
// its remedy, and both are metrics under CloudWatch's names.
func TestOverview(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	c := &client.Client{Endpoint: w.app.URL()}
	fleets := wait.Value(t, "the placement's game session is ACTIVE", func() ([]client.Fleet, error) { // it becomes so without a request
		fleets, err := c.Fleets(t.Context())
		if err != nil || len(fleets) != 2 {
			t.Fatalf("%d fleets, %v", len(fleets), err)
		}
		if n := fleets[0].Sessions; n < 2 {
			return nil, fmt.Errorf("%d game sessions are", n)
		}
		return fleets, nil
	})
	anywhere, managed := fleets[0], fleets[1]
	want := client.FleetLoad{Processes: 2, Sessions: 2, Players: 1, MaxPlayers: 6}
	if anywhere.FleetLoad != want || len(anywhere.Locations) != 1 || anywhere.Locations[0].FleetLoad != want {
		t.Errorf("the fleet has %+v, want %+v in its one location", anywhere, want)
	}
	if full := anywhere.Locations[0].Full; full != "all 2 game servers have game sessions; start more game servers there" || managed.Locations[0].Full != "" {
		t.Errorf("it is full: %q; and without game servers: %q", full, managed.Locations[0].Full)
	}
	if l := managed.Locations[0]; l.Pending != 1 || l.Desired != 1 || managed.Pending != 1 ||
		!strings.Contains(l.Reason, "no host has joined location us-east-1") || !strings.Contains(l.Reason, "muster admin join-tokens create --location us-east-1") ||
		strings.Contains(l.Reason, "muster fleets scale") { // which is refused until the fleet is ACTIVE
		t.Errorf("a location without a host is %+v", l)
	}
	processes, err := c.Processes(t.Context(), anywhere.ID)
	if err != nil || len(processes) != 2 || processes[0].Host != "host-1" {
		t.Errorf("processes %+v, %v", processes, err)
	}

	response := node.Must(http.Get(w.app.URL() + "/metrics"))(t)
	defer response.Body.Close()
	text := node.Must(io.ReadAll(response.Body))(t)
	here := `{fleet_id="` + anywhere.ID + `",fleet_name="` + anywhere.Name + `",location="` + anywhere.Locations[0].Location + `"} `
	there := `{fleet_id="` + managed.ID + `",fleet_name="m",location="us-east-1"} `
	for _, line := range []string{
		"muster_fleet_active_server_processes" + here + "2", "muster_fleet_active_game_sessions" + here + "2",
		"muster_fleet_current_player_sessions" + here + "1", "muster_fleet_available_player_sessions" + here + "5",
		"muster_fleet_desired_instances" + there + "1", "muster_fleet_pending_instances" + there + "1", "muster_fleet_active_instances" + there + "0",
	} {
		if !strings.Contains(string(text), line+"\n") {
			t.Errorf("/metrics lacks %s", line)
		}
	}
}
