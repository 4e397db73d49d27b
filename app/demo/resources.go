package demo

import (
	"context"
	"fmt"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/fault"
)

// makeResources makes the location, the fleet, its alias and its compute, each
// where it is missing.
func (d *Demo) makeResources(ctx context.Context) error {
	_, err := d.s.Fleets.CreateLocation(ctx, location, nil)
	if err != nil && !fault.Is(err, fault.Conflict) {
		return fmt.Errorf("make location %s: %w", location, err)
	}
	f, err := d.fleet(ctx)
	if err != nil {
		return fmt.Errorf("make fleet %s: %w", name, err)
	}
	d.fleetID.Store(&f.ID)
	if d.aliasID, err = d.alias(ctx, f.ID); err != nil {
		return fmt.Errorf("make alias %s: %w", name, err)
	}
	_, err = d.s.Computes.Register(ctx, compute.RegisterInput{
		FleetID: f.ID, Name: computeName, Location: location, IPAddress: "127.0.0.1",
	})
	if err != nil && !fault.Is(err, fault.Conflict) {
		return fmt.Errorf("register compute %s: %w", computeName, err)
	}
	return nil
}

// fleet gives the demo's fleet.
func (d *Demo) fleet(ctx context.Context) (*fleet.Fleet, error) {
	for f := range d.s.Fleets.All(d.s.Store.View(), "") {
		if f.Name == name && f.Status == fleet.Active && f.Has(location) {
			return f, nil
		}
	}
	return d.s.Fleets.Create(ctx, fleet.CreateInput{
		Name: name, Description: "The demo of muster local", ComputeType: fleet.Anywhere, Locations: []string{location},
	})
}

// alias gives the id of the demo's alias, which leads to the fleet.
func (d *Demo) alias(ctx context.Context, fleetID string) (string, error) {
	for a := range d.s.Fleets.Aliases(d.s.Store.View(), "") {
		switch {
		case a.Name != name:
		case a.Routing == fleet.Simple && a.FleetID == fleetID:
			return a.ID, nil
		default:
			_, err := d.s.Fleets.UpdateAlias(ctx, fleet.AliasUpdate{AliasID: a.ID, Routing: fleet.Simple, FleetID: fleetID})
			return a.ID, err
		}
	}
	a, err := d.s.Fleets.CreateAlias(ctx, fleet.AliasInput{Name: name, Routing: fleet.Simple, FleetID: fleetID})
	if err != nil {
		return "", err
	}
	return a.ID, nil
}
