package live

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/setup"
)

// An instance that is idle is ACTIVE, and counts once; what is above the desired number of a
// location does not make up for another.
func TestCounted(t *testing.T) {
	place := func(active, idle, desired int32) types.FleetCapacity {
		return types.FleetCapacity{InstanceCounts: &types.EC2InstanceCounts{ACTIVE: aws.Int32(active), IDLE: aws.Int32(idle), DESIRED: aws.Int32(desired)}}
	}
	active, desired := counted([]types.FleetCapacity{place(1, 1, 2), place(3, 0, 1), place(0, 0, 0)})
	if active != 2 || desired != 3 {
		t.Errorf("%d of %d instances are ACTIVE, want 2 of 3", active, desired)
	}
}

// A fleet that takes the place of another keeps what the file leaves out, and loses what it
// empties.
func TestCompleted(t *testing.T) {
	one := int32(1)
	now := &setup.Fleet{
		Build: "game@1", MetricGroups: []string{"default"}, Tags: setup.Tags{"team": "blue"},
		Locations: map[string]*setup.Capacity{"custom-lab": {DesiredInstances: &one}},
	}
	got := completed(setup.Fleet{Build: "game@2", Tags: setup.Tags{}}, now)
	if got.Build != "game@2" || len(got.Tags) != 0 || len(got.MetricGroups) != 1 || got.Locations["custom-lab"] == nil {
		t.Errorf("it is %+v", got)
	}
	if got := completed(setup.Fleet{Build: "game@1"}, nil); got.Build != "game@1" {
		t.Errorf("a new fleet is %+v", got)
	}
}

// A fleet that takes the place of another has the instances of the file, unless scaling policies
// decide on them; a canary has a share of them.
func TestSized(t *testing.T) {
	n := aws.Int32
	place := func(high, desired int32) *setup.Capacity {
		return &setup.Capacity{MinSize: n(0), MaxSize: &high, DesiredInstances: &desired}
	}
	fromZero := place(4, 3)
	fromZero.MinSize, fromZero.ManagedCapacityConfiguration = n(1), &types.ManagedCapacityConfiguration{ZeroCapacityStrategy: types.ZeroCapacityStrategyScaleToAndFromZero}
	for name, test := range map[string]struct {
		got                *setup.Capacity
		low, desired, high int32
	}{
		"the file's":             {got: sized(place(2, 2), place(5, 5), 1, false), desired: 2, high: 2},
		"more than none":         {got: sized(place(2, 2), place(0, 0), 1, false), desired: 2, high: 2},
		"scaled":                 {got: sized(place(4, 1), place(5, 3), 1, true), desired: 3, high: 4},
		"scaled, and too many":   {got: sized(place(2, 1), place(5, 3), 1, true), desired: 2, high: 2},
		"a canary":               {got: sized(place(9, 3), place(9, 3), 0.5, false), desired: 2, high: 2},
		"a canary, from zero":    {got: sized(fromZero, fromZero, 0.5, false), desired: 2, high: 2},
		"left out":               {got: sized(nil, place(5, 3), 1, false), desired: 3, high: 5},
		"a location that is new": {got: sized(place(5, 3), nil, 1, false), desired: 3, high: 5},
	} {
		if g := test.got; *g.MinSize != test.low || *g.DesiredInstances != test.desired || *g.MaxSize != test.high {
			t.Errorf("%s: it has %d to %d and desires %d, want %d to %d and %d", name, *g.MinSize, *g.MaxSize, *g.DesiredInstances, test.low, test.high, test.desired)
		}
	}
}
