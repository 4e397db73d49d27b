package live

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/setup"
)

// unused returns the locations in which a fleet is to have no instances, the home region among
// them. A new fleet desires one in each until it is ACTIVE and its capacity can be set. If it is
// to have none anywhere, one has to be ACTIVE nevertheless, and none is returned.
func (m *Server) unused(p setup.Placement) (all []string) {
	given := p.Unused()
	if len(given) == 1+len(p.Locations) {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		all = append(all, cmp.Or(name, m.Region))
	}
	return all
}

// active waits until a fleet of either kind is ACTIVE. That there is no host in the locations
// unused is no news. fails, if it is not nil, returns why that will not be.
func (m *Server) active(ctx context.Context, kind setup.Kind, key, id string, unused []string, fails func(context.Context) error) error {
	return m.wait(ctx, string(kind)+" "+key, func(ctx context.Context) (bool, string, error) {
		if kind == setup.ContainerFleetKind {
			out, err := m.API.DescribeContainerFleet(ctx, &gamelift.DescribeContainerFleetInput{FleetId: &id})
			if err != nil {
				return false, "", err
			}
			status := out.ContainerFleet.Status
			if status == types.ContainerFleetStatusCreated || status == types.ContainerFleetStatusUpdating {
				return true, "", nil
			}
			return m.look(ctx, id, types.FleetStatus(status), unused)
		}
		out, err := m.API.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{FleetIds: []string{id}})
		if err != nil {
			return false, "", err
		}
		if len(out.FleetAttributes) != 1 {
			return false, "", fmt.Errorf("fleet %s is not there any more", id)
		}
		status := out.FleetAttributes[0].Status
		if status != types.FleetStatusActive {
			if failed, err := m.failedElsewhere(ctx, id, unused); err != nil {
				return false, "", err
			} else if failed {
				status = types.FleetStatusError
			}
		}
		ready, news, err := m.look(ctx, id, status, unused)
		if !ready && err == nil && fails != nil {
			if err := fails(ctx); err != nil {
				return false, "", fmt.Errorf("fleet %s: %w", key, err)
			}
		}
		return ready, news, err
	})
}

// failedElsewhere reports whether a fleet that is to have no instances in its home region is in ERROR in
// each location where it is to have some. It is not in ERROR itself then, since its home region
// waits for a host.
func (m *Server) failedElsewhere(ctx context.Context, id string, unused []string) (failed bool, err error) {
	if !slices.Contains(unused, m.Region) {
		return false, nil
	}
	statuses, err := m.statuses(ctx, id)
	if err != nil {
		return false, err
	}
	for name, status := range statuses {
		if slices.Contains(unused, name) {
			continue
		}
		if status != types.FleetStatusError {
			return false, nil
		}
		failed = true
	}
	return failed, nil
}

// statuses returns the statuses of a fleet's locations besides its home region.
func (m *Server) statuses(ctx context.Context, id string) (map[string]types.FleetStatus, error) {
	all := map[string]types.FleetStatus{}
	for page := gamelift.NewDescribeFleetLocationAttributesPaginator(m.API, &gamelift.DescribeFleetLocationAttributesInput{FleetId: &id}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, l := range out.LocationAttributes {
			all[*l.LocationState.Location] = l.LocationState.Status
		}
	}
	return all, nil
}

// look reports whether a fleet or location in a status is ACTIVE; if not, what it does, and
// what its last event says that is not of the locations unused.
func (m *Server) look(ctx context.Context, id string, status types.FleetStatus, unused []string) (active bool, news string, err error) {
	if status == types.FleetStatusActive {
		return true, "", nil
	}
	event := m.lastEvent(ctx, id, unused)
	if slices.Contains([]types.FleetStatus{types.FleetStatusError, types.FleetStatusDeleting, types.FleetStatusTerminated}, status) {
		return false, "", fmt.Errorf("is in status %s: %s. After the cause is removed, run the command again: another fleet takes its place", status, cmp.Or(event, "see its events"))
	}
	if strings.HasPrefix(event, waiting) {
		if why, known := m.reasons(ctx, id, unused); known {
			event = why // of all locations, and as it is now
		}
	}
	if event != "" {
		return false, fmt.Sprintf("%s (%s)", status, event), nil
	}
	return false, string(status), nil
}

// waiting is how the message of an event begins that says that a location needs a host.
const waiting = "Waiting for a host in "

// reasons returns why something of a fleet is pending in its locations, except for those unused,
// and whether that is known.
func (m *Server) reasons(ctx context.Context, id string, unused []string) (why string, known bool) {
	if m.Reasons == nil {
		return "", false
	}
	all, said := m.Reasons(ctx, id), []string(nil)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] != "" && !slices.Contains(unused, name) {
			said = append(said, name+": "+all[name])
		}
	}
	return strings.Join(said, "; "), all != nil
}

// lastEvent returns the message of the last event of a fleet that says more than its state and
// does not ask for a host in one of the locations unused.
func (m *Server) lastEvent(ctx context.Context, id string, unused []string) string {
	out, err := m.API.DescribeFleetEvents(ctx, &gamelift.DescribeFleetEventsInput{FleetId: &id})
	if err != nil {
		return ""
	}
	return newest(out.Events, unused)
}

// newest is lastEvent for the events of a fleet.
func newest(all []types.Event, unused []string) string {
	slices.SortStableFunc(all, func(a, b types.Event) int { return b.EventTime.Compare(*a.EventTime) })
	for _, e := range all {
		idle := slices.ContainsFunc(unused, func(name string) bool { return strings.HasPrefix(val(e.Message), waiting+name+" ") })
		state := strings.HasPrefix(string(e.EventCode), "FLEET_STATE_") || strings.HasPrefix(string(e.EventCode), "LOCATION_STATE_") && strings.HasSuffix(val(e.Message), "changed state to ERROR")
		if !idle && !state && e.EventCode != types.EventCodeFleetCreated && val(e.Message) != "" {
			return *e.Message
		}
	}
	return ""
}
