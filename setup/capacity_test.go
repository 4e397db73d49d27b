package setup

import "testing"

// Before a fleet has a scaling policy, the file says how many instances it desires; from then on
// the policies do, as far as the limits of the file allow.
func TestScaledWithin(t *testing.T) {
	t.Parallel()
	n := func(i int32) *int32 { return &i }
	have := &Capacity{MinSize: n(0), MaxSize: n(1), DesiredInstances: n(1)}
	for name, test := range map[string]struct {
		want *Capacity
		n    int32
	}{
		"within":              {&Capacity{MaxSize: n(4), DesiredInstances: n(2)}, 1},
		"above, given":        {&Capacity{MaxSize: n(0), DesiredInstances: n(0)}, 0},
		"above, nothing":      {&Capacity{MaxSize: n(0)}, 0},
		"below, given":        {&Capacity{MinSize: n(2), MaxSize: n(4), DesiredInstances: n(3)}, 3},
		"below, not given":    {&Capacity{MinSize: n(2), MaxSize: n(4)}, 2},
		"nothing in the file": {&Capacity{}, 1},
	} {
		if got := ScaledWithin(test.want, have); got == nil || *got != test.n {
			t.Errorf("%s: it desires %v, want %d", name, got, test.n)
		}
	}
	policy := map[string]*ScalingPolicy{"spare": {}}
	if Scaled(policy, nil) || !Scaled(policy, policy) || !Scaled(nil, policy) || Scaled(map[string]*ScalingPolicy{}, policy) {
		t.Error("it is not the policies that a fleet has and keeps that scale it")
	}
}
