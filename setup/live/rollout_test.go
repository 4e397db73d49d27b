package live

import (
	"testing"

	"github.com/musterhq/muster/setup"
)

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
