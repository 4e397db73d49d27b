//go:build unix

package app_test

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/agent"
	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/fleet/price"
)

// What a fleet costs is its instances' share of the machine that they are on; what they leave
// is unused. A price for instances replaces the share, and another list is taken over at once.
func TestCosts(t *testing.T) {
	t.Parallel()
	list := price.List{Currency: "EUR", Hosts: []price.Host{{Name: "big-*", Hour: 3.2}}}
	var reread app.Files
	a := start(t, func(o *app.Options) {
		o.Prices = list
		o.Reread = func() (app.Files, error) { return reread, nil }
	})
	c := &client.Client{Endpoint: a.URL()}
	join(t, a, filepath.Join(t.TempDir(), "agent"), 21400, func(o *agent.Options) { o.Facts.Name = "big-1" })
	f := a.MakeFleet(t, arenaBuild(t), nil)
	events(t, a.URL(), "FLEET_STATE_ACTIVE", 1, 0)
	costs := func() client.Costs {
		t.Helper()
		costs, err := c.Costs(t.Context())
		if err != nil || len(costs.Fleets) != 1 || costs.Fleets[0].FleetID != f.ID {
			t.Fatalf("costs are %+v, %v", costs, err)
		}
		return costs
	}
	now := costs()
	of := now.Fleets[0]
	if of.Instances == 0 || of.PerHour <= 0 || of.Unpriced != 0 || of.PerPlayerHour != nil {
		t.Errorf("the fleet costs %+v", of)
	}
	if len(now.Unused) != 1 || math.Abs(of.PerHour+now.Unused[0].PerHour-3.2) > 1e-9 || math.Abs(now.Total.PerHour-3.2) > 1e-9 {
		t.Errorf("the fleet costs %v and %v is unused, of 3.2", of.PerHour, now.Unused)
	}
	_, metrics := get(t, a.URL()+"/metrics")
	if !strings.Contains(metrics, `muster_cost_per_hour{currency="EUR",fleet_id="`+f.ID+`"`) || !strings.Contains(metrics, `muster_cost_unused_per_hour{currency="EUR"`) {
		t.Error("the metrics have no costs")
	}

	made := createWhenFree(t, a.URL(), map[string]any{"FleetId": f.ID, "MaximumPlayerSessionCount": 4})
	events(t, a.URL(), "GAME_SESSION_ACTIVATED", 1, 0)
	for _, player := range []string{"ann", "ben"} {
		check(t, c.Call(t.Context(), "CreatePlayerSession", map[string]any{"GameSessionId": made.GameSessionID, "PlayerId": player}, nil))
	}
	reread.Prices = price.List{Currency: "USD", Instances: []price.Instance{{Hour: 0.5}}}
	check(t, a.Reload(t.Context()))
	now = costs()
	of = now.Fleets[0]
	if want := 0.5 * float64(of.Instances); now.Currency != "USD" || of.PerHour != want || of.PerPlayerHour == nil || *of.PerPlayerHour != want/2 || len(now.Unused) != 0 {
		t.Errorf("by the next list costs are %+v", now)
	}
	reread.Prices = price.List{Currency: "USD", Instances: []price.Instance{{Hour: -1}}}
	if err := a.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "instances[0]") {
		t.Errorf("a list with a negative price is reloaded: %v", err)
	}
	if now := costs(); now.Fleets[0].PerHour != of.PerHour {
		t.Errorf("after a list that is wrong costs are %+v", now)
	}
}

// A machine has one price, although it is registered in several Anywhere fleets and is a host
// too: what its instances leave of it is for its computes, in equal parts.
func TestCosts_MachineOnce(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) {
		o.Prices = price.List{Currency: "EUR", Hosts: []price.Host{{Name: "spare", Hour: 0}, {Name: "dear", Hour: 9}, {Hour: 3}}}
	})
	c := &client.Client{Endpoint: a.URL()}
	call := func(operation string, in map[string]any) (out struct{ FleetAttributes struct{ FleetID string } }) {
		t.Helper()
		check(t, c.Call(t.Context(), operation, in, &out))
		return out
	}
	costs := func(want ...float64) { // in all, of the fleets, unused
		t.Helper()
		now, err := c.Costs(t.Context())
		if err != nil || len(now.Fleets) != 2 {
			t.Fatalf("costs are %+v, %v", now, err)
		}
		got := []float64{now.Total.PerHour, now.Fleets[0].PerHour, now.Fleets[1].PerHour}
		unused := 0.0
		for _, u := range now.Unused {
			unused += u.PerHour
		}
		if got = append(got, unused); !slices.Equal(got, want) || now.Total.Unpriced > 0 {
			t.Errorf("costs in all, of the fleets and unused are %v, not %v; %d have no price", got, want, now.Total.Unpriced)
		}
	}
	call("CreateLocation", map[string]any{"LocationName": "custom-here"})
	var fleets []string
	for _, name := range []string{"one", "two"} {
		made := call("CreateFleet", map[string]any{"Name": name, "ComputeType": "ANYWHERE", "Locations": []any{map[string]any{"Location": "custom-here"}}})
		fleets = append(fleets, made.FleetAttributes.FleetID)
	}
	register := func(fleet int, name, ip, dns string) {
		t.Helper()
		in := map[string]any{"FleetId": fleets[fleet], "ComputeName": name, "IpAddress": ip, "Location": "custom-here"}
		if dns != "" {
			in["DnsName"] = dns
		}
		call("RegisterCompute", in)
	}
	register(0, "mine", "127.0.0.1", "")
	costs(3, 3, 0, 0)
	register(1, "mine", "127.0.0.1", "")
	costs(3, 1.5, 1.5, 0)
	register(1, "dear", "2001:db8::1", "")
	register(0, "other", "2001:DB8:0::1", "")
	costs(12, 6, 6, 0) // the highest price that the machine has by one of its names
	register(0, "left", "192.0.2.1", "left.example.com")
	register(0, "right", "192.0.2.1", "right.example.com")
	costs(18, 12, 6, 0) // two machines behind one address
	register(1, "spare", "192.0.2.9", "")
	costs(18, 12, 6, 0)
	join(t, a, filepath.Join(t.TempDir(), "agent"), 21600, func(o *agent.Options) { o.Facts.Name = "big-1" })
	events(t, a.URL(), "HOST_CONNECTED", 1, 0)
	costs(18, 12, 6, 0)
	check(t, c.Call(t.Context(), "DeregisterCompute", map[string]any{"FleetId": fleets[1], "ComputeName": "mine"}, nil))
	costs(18, 13.5, 4.5, 0)
	check(t, c.Call(t.Context(), "DeregisterCompute", map[string]any{"FleetId": fleets[0], "ComputeName": "mine"}, nil))
	costs(18, 10.5, 4.5, 3) // the host alone
}
