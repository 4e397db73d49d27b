package live

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
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
