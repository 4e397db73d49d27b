package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/musterhq/muster/hosts/protocol"
)

// Machines and shortages can be chosen by location, state and fleet, and a machine shows how
// many instances its ports are enough for.
func TestHosts_Filters(t *testing.T) {
	t.Parallel()
	local := protocol.Host{
		HostID: "host-3", Location: "custom-b", Connected: true, PortFrom: 20000, PortTo: 29999, PortRoom: 100, CPUMillis: 64000, MemoryMiB: 262144, Processes: 2,
		Resources: protocol.Resources{CPUMillis: 2000, CPUMillisUsed: 500, MemoryMiB: 7900, MemoryUsedMiB: 900, DiskMiB: 2048, DiskFreeMiB: 1024},
		Own:       []protocol.Instance{{InstanceID: "exec", Phase: protocol.Activating, Processes: []protocol.Process{{ProcessID: "p-1", PID: 17}}, Groups: []protocol.GroupStatus{{Name: "g", ProcessID: "p-2"}}}},
	}
	full := protocol.Host{HostID: "host-2", Name: "two", Location: "custom-b", Draining: true, PortFrom: 20000, PortTo: 20099, CPUMillis: 4000, MemoryMiB: 8192,
		Resources: protocol.Resources{CPUMillisUsed: 1500, MemoryMiB: 8192, MemoryUsedMiB: 512, DiskMiB: 2048, DiskFreeMiB: 1024}}
	bare := protocol.Host{HostID: "host-1", Location: "custom-a", Connected: true, CPUMillis: 4000, MemoryMiB: 8192}
	answers := map[string]any{
		protocol.PathHosts: []protocol.Host{
			bare, full, local,
		},
		protocol.PathHosts + "/host-2": full,
		protocol.PathHosts + "/host-1": bare,
		protocol.PathHosts + "/host-3": local,

		protocol.PathHosts + "/host-1/drain": bare,
		protocol.PathHosts + "/host-3/drain": local,
		protocol.PathShortages:               []protocol.Shortage{{FleetID: "fleet-1", Location: "custom-a"}, {FleetID: "fleet-2", Location: "custom-b"}},
		"/console/api/fleets":                []map[string]string{{"id": "fleet-1", "name": "live"}, {"id": "fleet-2", "name": "beta"}},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			t.Errorf("%s is removed", r.URL.Path)
		}
		if err := json.NewEncoder(w).Encode(answers[r.URL.Path]); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	for line, want := range map[string]string{
		"hosts":                               "host-1 host-2 host-3",
		"hosts --location custom-b":           "host-2 host-3",
		"hosts --status drained":              "host-2",
		"hosts --status AWAY":                 "host-2",
		"hosts shortages --fleet beta":        "fleet-2",
		"hosts shortages --location custom-a": "fleet-1",
	} {
		code, out, stderr := typed(t, t.Context(), append(strings.Fields(line), "--endpoint", server.URL)...)
		var got []string
		for _, word := range strings.Fields(out) {
			if strings.HasPrefix(word, "host-") || strings.HasPrefix(word, "fleet-") {
				got = append(got, word)
			}
		}
		if code != 0 || strings.Join(got, " ") != want {
			t.Errorf("muster %s: %d %s shows %q, want %s", line, code, stderr, got, want)
		}
	}
	if _, out, _ := typed(t, t.Context(), "hosts", "show", "host-2", "--endpoint", server.URL); !strings.Contains(out, "20000 to 20099, not enough for another instance, which takes 100: start the agent with more (--ports)") {
		t.Errorf("the machine is shown as\n%s", out)
	}
	_, out, _ := typed(t, t.Context(), "hosts", "--endpoint", server.URL)
	rows := strings.Split(strings.TrimSpace(out), "\n")
	for i, want := range map[int]string{
		1: "-/4.0 -/8192 4.0, 8192 -", // it measures nothing
		2: "1.5/4.0 512/8192 4.0, 8192 1024",
		3: "0 2 0.5/2.0 900/7900 64.0, 262144 1024",
	} {
		if len(rows) != 4 || !strings.Contains(strings.Join(strings.Fields(rows[i]), " "), " "+want) {
			t.Errorf("the machines are not shown with %q:\n%s", want, out)
		}
	}
	if _, out, _ := typed(t, t.Context(), "hosts", "show", "host-1", "--endpoint", server.URL); !strings.Contains(out, "4.0 offered, use not measured") {
		t.Errorf("the machine that measures nothing is shown as\n%s", out)
	}
	_, out, _ = typed(t, t.Context(), "hosts", "show", "host-3", "--endpoint", server.URL)
	for _, want := range []string{"0.5 of 2.0 used, 64.0 offered", "exec RUNNING p-1 17", "exec RUNNING p-2 -"} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("the machine of 'muster local' is not shown with %q:\n%s", want, out)
		}
	}
	for line, want := range map[string]string{
		"hosts drain host-1":  "host-1 takes nothing new",
		"hosts drain host-3":  "2 game servers of 'muster local' itself have no part in that",
		"hosts remove host-3": "end that program instead",
	} {
		_, out, stderr := typed(t, t.Context(), append(strings.Fields(line), "--endpoint", server.URL)...)
		if !strings.Contains(out+stderr, want) {
			t.Errorf("muster %s: want %q in\n%s%s", line, want, out, stderr)
		}
	}
}
