//go:build unix

package app_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/musterhq/muster/agent"
	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// newcomer returns the id and the headers of a new player.
func newcomer(t *testing.T, base string) (id string, header map[string]string) {
	t.Helper()
	_, text := send(t, direct, http.MethodPost, base+"/player/v1/auth/guest", "", nil)
	var in protocol.Session
	check(t, json.Unmarshal([]byte(text), &in))
	return in.PlayerID, map[string]string{"Authorization": "Bearer " + in.AccessToken}
}

// A machine's agent comes back with other addresses. Its game session lives on; the API shows its
// IPv4 address if it has one, and players are sent to the address of the kind that they use.
func TestHosting_OtherAddresses(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) { o.TrustedProxies = []string{"127.0.0.1"} })
	root := filepath.Join(t.TempDir(), "agent")
	agentAt := func(ip, ipv6 string, keep bool) *joined {
		return join(t, a, root, 26100, func(o *agent.Options) { o.Facts.IPAddress, o.Facts.IPv6, o.KeepRunning = ip, ipv6, keep })
	}
	const old, four, six = "192.0.2.10", "192.0.2.99", "2001:db8::99"
	first := agentAt(old, "", true)
	f := a.MakeFleet(t, arenaBuild(t), func(in *fleet.CreateInput) { in.Runtime.Processes[0].Concurrent = 1 })
	last := events(t, a.URL(), "SERVER_PROCESS_ACTIVE", 1, 0)
	made := createWhenFree(t, a.URL(), map[string]any{"FleetId": f.ID, "MaximumPlayerSessionCount": 9})
	last = events(t, a.URL(), "GAME_SESSION_ACTIVATED", 1, last.Seq)
	player, login := newcomer(t, a.URL())
	reserve := func() (p struct {
		PlayerSession struct {
			IPAddress string `json:"IpAddress"`
			DNSName   string `json:"DnsName"`
		}
	}) {
		check(t, at(a).Call(t.Context(), "CreatePlayerSession", map[string]any{"GameSessionId": made.GameSessionID, "PlayerId": player}, &p))
		return p
	}
	from := func(client string) *protocol.Connection {
		reserve() // again, should the last one have timed out
		header := map[string]string{"X-Forwarded-For": client, "Authorization": login["Authorization"]}
		_, text := send(t, direct, http.MethodGet, a.URL()+"/player/v1/players/me/reservations", "", header)
		var all protocol.Reservations
		check(t, json.Unmarshal([]byte(text), &all))
		if len(all.Items) != 1 {
			t.Fatalf("the reservations are %s", text)
		}
		return all.Items[0].Connection
	}
	verify := func(when, shown string, forIPv4, forIPv6 []string) {
		t.Helper()
		wait.Until(t, when+" the API shows "+shown, func() bool {
			var out struct{ GameSessions []createdSession }
			check(t, at(a).Call(t.Context(), "DescribeGameSessions", map[string]any{"GameSessionId": made.GameSessionID}, &out))
			return out.GameSessions[0].IPAddress == shown && out.GameSessions[0].DNSName == shown
		})
		if p := reserve().PlayerSession; p.IPAddress != shown || p.DNSName != shown {
			t.Errorf("%s CreatePlayerSession shows %+v", when, p)
		}
		for client, want := range map[string][]string{"198.51.100.1": forIPv4, "2001:db8:1::1": forIPv6} {
			if c := from(client); c.IP != want[0] || c.Host != want[0] || c.DNSName != want[0] || !reflect.DeepEqual(c.Addresses, want) {
				t.Errorf("%s a client at %s is sent to %+v, want %v", when, client, *c, want)
			}
		}
		if status := statusOf(t, a, made.GameSessionID); status != "ACTIVE" {
			t.Fatalf("%s the game session is %s", when, status)
		}
	}
	verify("at first", old, []string{old}, []string{old})
	first.end()
	second := agentAt(four, six, true)
	verify("with both", four, []string{four, six}, []string{six, four})
	moved := events(t, a.URL(), "COMPUTE_ADDRESS_CHANGED", 1, last.Seq)
	if want := "players reach it at " + four + " " + six + ", no longer at " + old; moved.Message != want || moved.FleetID != f.ID {
		t.Errorf("the event is %+v, want %q", moved, want)
	}
	second.end()
	agentAt(six, "", false)
	verify("with IPv6 alone", six, []string{six}, []string{six})
}
