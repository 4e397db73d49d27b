package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/internal/store"
)

// origin is the only row of its table: which region a state is of. States of deployments that
// always had one region have none, since that may be renamed.
type origin struct {
	ID     string `json:"id"`
	Region string `json:"region"`
}

// originTable is the name of the table, originID the key of the row.
const originTable, originID = "region", "region"

// origins keeps regions that are listed in another order, or renamed, from getting each
// other's state.
type origins struct {
	store *store.Store
	table *store.Table[origin]
	set   *store.Action[string]
}

func newOrigins(st *store.Store) *origins {
	o := &origins{store: st}
	o.table = store.NewTable(st, store.TableSpec[origin]{Name: originTable, Key: func(v *origin) string { return v.ID }})
	o.set = store.NewAction(st, "region.set", func(tx *store.Tx, region string) error {
		o.table.Put(tx, &origin{originID, region})
		return nil
	})
	return o
}

// storedRegion returns which region a cell's state is marked as, "" if it is of a deployment
// that always had one.
func storedRegion(ctx context.Context, driver store.Driver, cell string) (region string, err error) {
	db, err := driver.Inspect(ctx, cell, store.Schema{Tables: []store.TableSchema{{Name: originTable}}})
	if err != nil {
		return "", err
	}
	_, err = db.Load(ctx, func(_ int, _ string, doc []byte) error {
		var row origin
		err := json.Unmarshal(doc, &row)
		region = row.Region
		return err
	})
	return region, errors.Join(err, db.Close())
}

// checkRegion returns an error if a state that is marked as a region's is not the one that the
// options name.
func checkRegion(o *Options, what, region string) error {
	if region == "" || region == o.Region || !o.named {
		return nil
	}
	return fmt.Errorf("%s is of the region %s, not of %s: name the regions of the deployment with --regions, in their order, and the one that is meant with --region", what, region, o.Region)
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
