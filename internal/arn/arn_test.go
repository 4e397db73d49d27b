package arn_test

import (
	"testing"

	"github.com/musterhq/muster/internal/arn"
)

// A fleet's id and the kind in its ARN belong together.
func TestFleetID(t *testing.T) {
	t.Parallel()
	home := arn.Home{Region: "us-east-1", Account: "000000000000"}
	const in = "arn:aws:gamelift:us-east-1:000000000000:"
	for given, want := range map[string]string{
		"fleet-1": "fleet-1", "containerfleet-1": "containerfleet-1", "": "",
		in + "fleet/fleet-1":                                                      "fleet-1",
		in + "containerfleet/containerfleet-1":                                    "containerfleet-1",
		"arn:aws:gamelift:us-east-1::containerfleet/containerfleet-1":             "containerfleet-1",
		in + "fleet/containerfleet-1":                                             "",
		in + "containerfleet/fleet-1":                                             "",
		in + "alias/containerfleet-1":                                             "",
		"arn:aws:gamelift:eu-west-1:000000000000:containerfleet/containerfleet-1": "",
	} {
		if got := home.FleetID(given); got != want {
			t.Errorf("FleetID(%q) = %q, want %q", given, got, want)
		}
	}
	for _, id := range []string{"fleet-1", "containerfleet-1"} {
		if a := home.OfFleet(id); home.FleetID(a) != id || !arn.IsFleet(a) {
			t.Errorf("%s: ARN %s", id, a)
		}
	}
	if arn.IsFleet(home.OfAlias("alias-1")) {
		t.Error("an alias is a fleet")
	}
}
