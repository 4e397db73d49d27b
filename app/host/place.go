package host

import (
	"context"
	"fmt"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/placement"
)

// The names of the resources for programs of this machine.
const (
	Location    = "custom-local" // in the home region
	ComputeName = "local"
)

// LocationIn returns the location of programs of this machine in a region that is not the home
// region: each has another one, so that latencies can choose among them.
func LocationIn(region string) string { return Location + "-" + region }

// Loopback is the address of game servers here for players on this machine alone.
const Loopback = "127.0.0.1"

// Place is where programs of this machine are hosted: an Anywhere fleet with this machine
// as its only compute.
type Place struct {
	FleetID string
	AliasID string
}

// Places creates places. It finds existing ones by name.
type Places struct {
	Store      *store.Store
	Fleets     *fleet.Service
	Computes   *compute.Service
	Placements *placement.Service
	Matches    *flexmatch.Service
	IP, IPv6   string // of this machine, for players; IPv6 is set only beside an IPv4 address
	Location   string
}

// Make returns the place with a name, and creates what is missing of it: the location, the
// fleet, its alias and its compute, and the queue and the matchmaking configuration for
// its players, with a rule set.
func (s Places) Make(ctx context.Context, name, description, rules string) (Place, error) {
	_, err := s.Fleets.Locations.Create(ctx, s.Location, nil)
	if err != nil && !fault.Is(err, fault.Conflict) {
		return Place{}, fmt.Errorf("make location %s: %w", s.Location, err)
	}
	f, err := s.fleet(ctx, name, description)
	if err != nil {
		return Place{}, fmt.Errorf("make fleet %s: %w", name, err)
	}
	alias, err := s.alias(ctx, name, f.ID)
	if err != nil {
		return Place{}, fmt.Errorf("make alias %s: %w", name, err)
	}
	if err := s.compute(ctx, f.ID); err != nil {
		return Place{}, fmt.Errorf("register compute %s: %w", ComputeName, err)
	}
	if err := s.makePlayable(ctx, name, alias, rules); err != nil {
		return Place{}, err
	}
	return Place{f.ID, alias}, nil
}

func (s Places) fleet(ctx context.Context, name, description string) (*fleet.Fleet, error) {
	for f := range s.Fleets.All(s.Store.View(), "") {
		if f.Name == name && f.ComputeType == fleet.Anywhere && f.Status == fleet.Active && f.Has(s.Location) {
			return f, nil
		}
	}
	return s.Fleets.Create.Do(ctx, fleet.CreateInput{
		Name: name, Description: description, ComputeType: fleet.Anywhere, Locations: []string{s.Location},
	})
}

// compute registers this machine with a fleet, or its address if that has changed.
func (s Places) compute(ctx context.Context, fleetID string) error {
	_, err := s.Computes.Register(ctx, compute.RegisterInput{FleetID: fleetID, Name: ComputeName, Location: s.Location, IPAddress: s.IP, IPv6Address: s.IPv6})
	return err
}

// alias returns the id of an alias with the name that leads to the fleet.
func (s Places) alias(ctx context.Context, name, fleetID string) (string, error) {
	for a := range s.Fleets.Aliases.All(s.Store.View(), "") {
		switch {
		case a.Name != name:
		case a.Routing == fleet.Simple && a.FleetID == fleetID:
			return a.ID, nil
		default:
			_, err := s.Fleets.Aliases.Update.Do(ctx, fleet.AliasUpdate{AliasID: a.ID, Routing: fleet.Simple, FleetID: fleetID})
			return a.ID, err
		}
	}
	a, err := s.Fleets.Aliases.Create.Do(ctx, fleet.AliasInput{Name: name, Routing: fleet.Simple, FleetID: fleetID})
	if err != nil {
		return "", err
	}
	return a.ID, nil
}
