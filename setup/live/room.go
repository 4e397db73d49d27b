package live

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/plain"
	"github.com/musterhq/muster/setup"
)

// warnOfRoom reports in which locations the hosts have no room for a fleet that is to have the
// capacities of w, in the place of another one, which keeps its instances until then. Where the server
// does not say, there is no warning: without room the fleet waits, as it does for hosts that scaling adds.
func (m *rollout) warnOfRoom(ctx context.Context, fleet, other string, kind types.EC2InstanceType, w *setup.Fleet) {
	places := maps.Clone(w.Locations)
	if places == nil {
		places = map[string]*setup.Capacity{}
	}
	places[""] = w.HomeRegion
	for _, location := range slices.Sorted(maps.Keys(places)) {
		need := int(val(val(places[location]).DesiredInstances))
		if need == 0 {
			continue
		}
		limits, err := m.API.DescribeEC2InstanceLimits(ctx, &gamelift.DescribeEC2InstanceLimitsInput{EC2InstanceType: kind, Location: some(location)})
		if err != nil || len(limits.EC2InstanceLimits) != 1 {
			continue
		}
		l := limits.EC2InstanceLimits[0]
		room := int(max(0, val(l.InstanceLimit)-val(l.CurrentInstances)))
		for _, key := range []string{fleet, other, setup.PreviousName(fleet)} {
			n, err := m.counts(ctx, key, location)
			if err != nil {
				return
			}
			room += int(val(n.TERMINATING))
			if key == other {
				need -= int(val(n.ACTIVE) + val(n.PENDING))
			}
		}
		if need > room {
			m.tell("fleet %s: %s needs %s of %s in %s beside those that serve, and the hosts there have room for %d now. Until there is room it waits: let another host join there, take instances from other fleets, or give fleet %s fewer DesiredInstances first", fleet, other, plain.Count(need, "more instance"), kind, val(l.Location), room, fleet)
		}
	}
}

// counts returns how many instances a fleet, which may not be there, has in a location; "" is the
// home region.
func (m *rollout) counts(ctx context.Context, key, location string) (n types.EC2InstanceCounts, err error) {
	f, ok := m.fleets[key]
	if !ok {
		return n, nil
	}
	if location == "" {
		out, err := m.API.DescribeFleetCapacity(ctx, &gamelift.DescribeFleetCapacityInput{FleetIds: []string{*f.FleetId}})
		if err == nil && len(out.FleetCapacity) == 1 {
			n = val(out.FleetCapacity[0].InstanceCounts)
		}
		return n, err
	}
	out, err := m.API.DescribeFleetLocationCapacity(ctx, &gamelift.DescribeFleetLocationCapacityInput{FleetId: f.FleetId, Location: &location})
	if err == nil && out.FleetCapacity != nil {
		n = val(out.FleetCapacity.InstanceCounts)
	}
	return n, err
}

// forShare returns a fleet with the capacities for a share of those that another has now.
func forShare(w, now *setup.Fleet, share float64) *setup.Fleet {
	out := &setup.Fleet{HomeRegion: sized(w.HomeRegion, now.HomeRegion, share, false), Locations: map[string]*setup.Capacity{}}
	for name, c := range w.Locations {
		out.Locations[name] = sized(c, now.Locations[name], share, false)
	}
	return out
}
