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
