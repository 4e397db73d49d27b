package demo

import (
	"context"

	"github.com/musterhq/muster/app/host"
)

// makeResources makes the location, the fleet, its alias and its compute, each
// where it is missing.
func (d *Demo) makeResources(ctx context.Context) error {
	places := host.Places{Store: d.s.Store, Fleets: d.s.Fleets, Computes: d.s.Computes}
	place, err := places.Make(ctx, name, "The demo of muster local")
	if err != nil {
		return err
	}
	d.fleetID.Store(&place.FleetID)
	d.aliasID = place.AliasID
	return nil
}
