package demo

import (
	"context"
)

// makeResources creates the missing resources of the demo.
func (d *Demo) makeResources(ctx context.Context) error {
	place, err := d.s.Places.Make(ctx, name, "The demo of muster local")
	if err != nil {
		return err
	}
	d.fleetID.Store(&place.FleetID)
	d.aliasID = place.AliasID
	return nil
}
