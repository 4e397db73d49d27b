package app

import (
	"context"
	"fmt"

	"github.com/musterhq/muster/internal/store"
)

// origin is the only row of its table: which region a state is of. States of deployments that
// always had one region have none, since that may be renamed.
type origin struct {
	ID     string `json:"id"`
	Region string `json:"region"`
}

// originID is the key of the row.
const originID = "region"

// origins keeps regions that are listed in another order, or renamed, from getting each
// other's state.
type origins struct {
	store *store.Store
	table *store.Table[origin]
	set   *store.Action[string]
}

func newOrigins(st *store.Store) *origins {
	o := &origins{store: st}
	o.table = store.NewTable(st, store.TableSpec[origin]{Name: "region", Key: func(v *origin) string { return v.ID }})
	o.set = store.NewAction(st, "region.set", func(tx *store.Tx, region string) error {
		o.table.Put(tx, &origin{originID, region})
		return nil
	})
	return o
}

// check returns an error if the state is another region's, and otherwise marks it as that of
// this one of several regions.
func (o *origins) check(ctx context.Context, region string, several bool) error {
	switch was := o.table.Get(o.store.View(), originID); {
	case was == nil && several:
		return o.set.Do(ctx, region)
	case was != nil && was.Region != region:
		return fmt.Errorf("regions: the state that is meant for %s is that of %s: list the regions as they were, the home region first, and new ones after them", region, was.Region)
	}
	return nil
}
