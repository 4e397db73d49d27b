package remote

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/placement"
)

// Survey implements placement.Remote. It asks which fleet an alias leads to, for the fleet's
// status and locations, and for the use of each location that is ACTIVE.
func (r *Remote) Survey(ctx context.Context, destination string) (found placement.Survey, err error) {
	fleetID := destination[strings.LastIndex(destination, "/")+1:]
	if arn.Kind(destination) == "alias" {
		out, err := call(ctx, r, r.api.ResolveAlias, &gamelift.ResolveAliasInput{AliasId: &fleetID})
		switch no := placement.RefusalOf(err); {
		case no != nil && no.Kind == placement.WrongStatus:
			return placement.Survey{Outcome: placement.TerminalAlias}, nil
		case no != nil && no.Kind == placement.Missing:
			return placement.Survey{Outcome: placement.NoSuchFleet}, nil
		case err != nil:
			return found, err
		}
		fleetID = aws.ToString(out.FleetId)
		if !isText(fleetID) {
			return found, fmt.Errorf("the alias leads to no fleet with an id of at most %d bytes", maxText)
		}
	}
	found.FleetID, found.Cost = fleetID, r.config.PricePerHour
	status, err := r.fleet(ctx, &found)
	if err != nil {
		return found, err
	}
	if status == "" {
		found.Outcome = placement.NoSuchFleet
		return found, nil
	}
	if !serves(status) {
		found.Outcome = placement.FleetNotActive
		return found, nil
	}
	found.Places, err = r.places(ctx, fleetID)
	return found, err
}

// serves reports whether game sessions can be created in a status of a fleet or a location.
func serves(status string) bool { return status == "ACTIVE" || status == "UPDATING" }

// fleet returns the status of a fleet, "" if there is no such fleet, and sets its cost if
// the configuration has none.
func (r *Remote) fleet(ctx context.Context, found *placement.Survey) (status string, err error) {
	if strings.HasPrefix(found.FleetID, "containerfleet-") {
		out, err := call(ctx, r, r.api.DescribeContainerFleet, &gamelift.DescribeContainerFleetInput{FleetId: &found.FleetID})
		if no := placement.RefusalOf(err); no != nil && no.Kind == placement.Missing {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		if out.ContainerFleet == nil {
			return "", nil
		}
		return string(out.ContainerFleet.Status), nil
	}
	out, err := call(ctx, r, r.api.DescribeFleetAttributes, &gamelift.DescribeFleetAttributesInput{FleetIds: []string{found.FleetID}})
	if no := placement.RefusalOf(err); no != nil && no.Kind == placement.Missing || err == nil && len(out.FleetAttributes) == 0 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	f := out.FleetAttributes[0]
	if a := f.AnywhereConfiguration; a != nil {
		if cost, err := strconv.ParseFloat(aws.ToString(a.Cost), 64); err == nil && cost >= 0 && cost <= maxPrice { // a fleet without a cost costs 0
			found.Cost = cmp.Or(found.Cost, cost)
		}
	}
	return string(f.Status), nil
}

// places returns the locations of a fleet, with the processes that are free in those that
// are ACTIVE. A location that the fleet is about to lose is left out.
func (r *Remote) places(ctx context.Context, fleetID string) ([]placement.RemotePlace, error) {
	var all []placement.RemotePlace
	in := &gamelift.DescribeFleetLocationAttributesInput{FleetId: &fleetID}
	err := pages(func() (*string, error) {
		out, err := call(ctx, r, r.api.DescribeFleetLocationAttributes, in)
		if err != nil {
			return nil, err
		}
		for _, l := range out.LocationAttributes {
			if l.LocationState == nil {
				continue // says nothing
			}
			place := placement.RemotePlace{Location: aws.ToString(l.LocationState.Location), Active: serves(string(l.LocationState.Status))}
			if !isText(place.Location) || len(all) >= mostPlaces {
				return nil, fmt.Errorf("fleet %.64q has a location without a name of at most %d bytes, or more than %d locations", fleetID, maxText, mostPlaces)
			}
			if place.Active {
				if place.Free, err = r.free(ctx, fleetID, place.Location); err != nil {
					return nil, err
				}
			}
			all = append(all, place)
		}
		in.NextToken = out.NextToken
		return out.NextToken, nil
	})
	return all, err
}

// mostPlaces is the most locations that a fleet of a remote may have.
const mostPlaces = 1000

// free returns how many processes of a location have no game session.
func (r *Remote) free(ctx context.Context, fleetID, location string) (int, error) {
	out, err := call(ctx, r, r.api.DescribeFleetLocationUtilization, &gamelift.DescribeFleetLocationUtilizationInput{FleetId: &fleetID, Location: &location})
	if no := placement.RefusalOf(err); no != nil && no.Kind == placement.Missing {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return idle(out.FleetUtilization), nil
}

func idle(u *types.FleetUtilization) int {
	if u == nil {
		return 0
	}
	return int(max(0, aws.ToInt32(u.ActiveServerProcessCount)-aws.ToInt32(u.ActiveGameSessionCount)))
}
