package api

import (
	"context"
	"iter"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/fault"
)

func (h handlers) registerLocations(srv *awsrpc.Server) {
	on(srv, "CreateLocation", h.createLocation)
	on(srv, "DeleteLocation", h.deleteLocation)
	on(srv, "ListLocations", h.listLocations)
	on(srv, "CreateFleetLocations", h.createFleetLocations)
	on(srv, "DeleteFleetLocations", h.deleteFleetLocations)
	on(srv, "DescribeFleetLocationAttributes", h.describeFleetLocationAttributes)
	on(srv, "DescribeFleetLocationUtilization", h.describeFleetLocationUtilization)
}

func (h handlers) createLocation(ctx context.Context, in *gamelift.CreateLocationInput) (*gamelift.CreateLocationOutput, error) {
	tags, err := tagMap(in.Tags)
	if err != nil {
		return nil, err
	}
	l, err := h.Fleets.Locations.Create(ctx, *in.LocationName, tags)
	if err != nil {
		return nil, err
	}
	return &gamelift.CreateLocationOutput{Location: new(h.locationOut(l.Name))}, nil
}

func (h handlers) deleteLocation(ctx context.Context, in *gamelift.DeleteLocationInput) (*gamelift.DeleteLocationOutput, error) {
	return nil, h.Fleets.Locations.Delete.Do(ctx, *in.LocationName)
}

// The largest page of ListLocations (API reference).
const largestLocationsPage = 200

func (h handlers) listLocations(ctx context.Context, in *gamelift.ListLocationsInput) (*gamelift.ListLocationsOutput, error) {
	page, next, err := pageOf(in.NextToken, limit(in.Limit, largestPage, largestLocationsPage), func(after string) iter.Seq[string] {
		return reached(ctx, slices.Values(h.locationNames(in.Filters, after)), func(name string) string { return h.Home.Of("location", name) })
	}, func(name string) string { return name }, "ListLocations", strings.Join(in.Filters, ","))
	if err != nil {
		return nil, err
	}
	return &gamelift.ListLocationsOutput{Locations: list(page, h.locationListed), NextToken: next}, nil
}

// locationNames returns the regions and custom locations that match the filters, in
// order of names, after a name.
func (h handlers) locationNames(filters []string, after string) []string {
	wants := func(filter string) bool { return len(filters) == 0 || slices.Contains(filters, filter) }
	var names []string
	if wants("AWS") {
		names = append(names, h.Fleets.Locations.Regions()...)
	}
	if wants("CUSTOM") {
		for l := range h.Fleets.Locations.All(h.Store.View(), "") {
			names = append(names, l.Name)
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name <= after })
}

func (h handlers) locationOut(name string) gamelift.LocationModel {
	out := gamelift.LocationModel{LocationName: &name}
	if fleet.IsCustom(name) {
		out.LocationArn = new(h.Home.Of("location", name))
	}
	return out
}

// locationListed returns a location as shown by ListLocations.
func (h handlers) locationListed(name string) gamelift.LocationModel {
	out := h.locationOut(name)
	out.PingBeacon = h.pingBeacon(name)
	return out
}

// pingBeacon returns where players measure their latency to a location, or nil if it
// has no UDP beacon.
func (h handlers) pingBeacon(location string) *gamelift.PingBeacon {
	if h.Beacon == nil {
		return nil
	}
	domain, text, err := net.SplitHostPort(h.Beacon(location))
	if err != nil {
		return nil
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil
	}
	return &gamelift.PingBeacon{UDPEndpoint: &gamelift.UDPEndpoint{Domain: &domain, Port: new(int32(port))}}
}

func (h handlers) createFleetLocations(ctx context.Context, in *gamelift.CreateFleetLocationsInput) (*gamelift.CreateFleetLocationsOutput, error) {
	names := locationsIn(in.Locations)
	f, err := h.Fleets.AddLocations.Do(ctx, fleet.LocationsInput{FleetID: *in.FleetId, Locations: names})
	if err != nil {
		return nil, err
	}
	return &gamelift.CreateFleetLocationsOutput{FleetId: &f.ID, FleetArn: h.fleetARN(f.ID), LocationStates: namedStates(f, names)}, nil
}

func (h handlers) deleteFleetLocations(ctx context.Context, in *gamelift.DeleteFleetLocationsInput) (*gamelift.DeleteFleetLocationsOutput, error) {
	f, err := h.Fleets.RemoveLocations.Do(ctx, fleet.LocationsInput{FleetID: *in.FleetId, Locations: in.Locations})
	if err != nil {
		return nil, err
	}
	return &gamelift.DeleteFleetLocationsOutput{FleetId: &f.ID, FleetArn: h.fleetARN(f.ID), LocationStates: namedStates(f, in.Locations)}, nil
}

func (h handlers) describeFleetLocationAttributes(ctx context.Context, in *gamelift.DescribeFleetLocationAttributesInput) (*gamelift.DescribeFleetLocationAttributesOutput, error) {
	f, err := h.Fleets.Find(h.Store.View(), *in.FleetId)
	if err != nil {
		return nil, err
	}
	request := []string{"DescribeFleetLocationAttributes", f.ID, strings.Join(in.Locations, ",")}
	skip, err := cursor[int](in.NextToken, request...)
	if err != nil {
		return nil, err
	}
	asked, err := askedLocations(f, in.Locations)
	if err != nil {
		return nil, err
	}
	if shown := h.places(ctx); shown != nil {
		asked = slices.DeleteFunc(asked, func(l fleet.LocationState) bool { return !shown(l.Location) })
	}
	asked = asked[min(skip, len(asked)):]
	page, more := take(slices.Values(asked), limit(in.Limit, defaultPage, largestPage))
	out := list(page, func(l fleet.LocationState) gamelift.LocationAttributes {
		out := gamelift.LocationAttributes{LocationState: new(stateOut(l.Location, l.Status))}
		if l.ScalingStopped {
			out.StoppedActions = []string{gamelift.FleetActionAutoScaling}
		}
		return out
	})
	return &gamelift.DescribeFleetLocationAttributesOutput{
		FleetId: &f.ID, FleetArn: h.fleetARN(f.ID), LocationAttributes: out, NextToken: nextToken(more, skip+len(page), request...),
	}, nil
}

// askedLocations returns the requested remote locations, in order, without those that
// the fleet does not have; if none was requested, all of them.
func askedLocations(f *fleet.Fleet, names []string) ([]fleet.LocationState, error) {
	if len(names) == 0 {
		return remoteLocations(f), nil
	}
	var asked []fleet.LocationState
	for i, name := range names {
		if name == f.Home {
			return nil, fault.Invalid("Locations.%d: %s is the home region of the fleet; only remote locations are described", i+1, name)
		}
		if l := f.Place(name); l != nil {
			asked = append(asked, *l)
		}
	}
	return asked, nil
}

// locationStates returns the states of all locations, the home region first.
func locationStates(f *fleet.Fleet) []gamelift.LocationState {
	home := f.Status
	if l := f.Place(f.Home); l != nil {
		home = l.Status
	}
	return append([]gamelift.LocationState{stateOut(f.Home, home)}, remoteStates(f)...)
}

// remoteLocations returns the locations other than the home region.
func remoteLocations(f *fleet.Fleet) []fleet.LocationState {
	return slices.DeleteFunc(slices.Clone(f.Locations), func(l fleet.LocationState) bool { return l.Location == f.Home })
}

func remoteStates(f *fleet.Fleet) []gamelift.LocationState {
	return list(remoteLocations(f), func(l fleet.LocationState) gamelift.LocationState { return stateOut(l.Location, l.Status) })
}

// namedStates returns the states of locations of the fleet.
func namedStates(f *fleet.Fleet, names []string) []gamelift.LocationState {
	return list(names, func(name string) gamelift.LocationState { return stateOut(name, f.Place(name).Status) })
}

func locationsIn(all []gamelift.LocationConfiguration) []string {
	return list(all, func(l gamelift.LocationConfiguration) string { return *l.Location })
}

// checkLocation returns a fault if a location is given and is not one of the fleet's.
func checkLocation(f *fleet.Fleet, location *string) error {
	if location == nil || *location == f.Home || f.Place(*location) != nil {
		return nil
	}
	return fault.Missing("Location: %s is not a location of fleet %s", *location, f.ID)
}

func stateOut(location string, status fleet.Status) gamelift.LocationState {
	return gamelift.LocationState{Location: &location, Status: new(legacyStatus(status)), PlayerGatewayStatus: new(gamelift.PlayerGatewayStatusDisabled)}
}
