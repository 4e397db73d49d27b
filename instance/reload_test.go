package instance_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

// unsure is a driver whose database, if fails is set, commits once and reports an error.
type unsure struct {
	store.Driver
	fails atomic.Bool
}

type unsureDB struct {
	store.DB
	of *unsure
}

func (u *unsure) Open(ctx context.Context, cell string, schema store.Schema) (store.DB, error) {
	db, err := u.Driver.Open(ctx, cell, schema)
	return &unsureDB{db, u}, err
}

func (db *unsureDB) Commit(ctx context.Context, b *store.Batch) error {
	err := db.DB.Commit(ctx, b)
	if db.of.fails.CompareAndSwap(true, false) {
		return errors.New("the answer was not understood")
	}
	return err
}

// A change whose commit was reported as failed may be durable. What it requires is planned
// once the state has been read again.
func TestManaged_PlansAfterAReload(t *testing.T) {
	driver := &unsure{Driver: store.NewMemory()}
	inCell(t, celltest.Options{Driver: driver}, func(y *yard) {
		h := y.host()
		f := y.managed("")
		y.run(h, y.assigned(h)[0].ID, "p")
		driver.fails.Store(true)
		two := 2
		_, err := y.Fleets.Capacities.Update.Do(y.Ctx, fleet.CapacityInput{FleetID: f.ID, Desired: &two, Max: &two})
		if !fault.Is(err, fault.InternalService) {
			t.Fatalf("the change: %v, want an internal error", err)
		}
		wait.Settle(moment)
		if got := y.Fleets.Get(y.Store.View(), f.ID).Place(region).Capacity.Desired; got != two {
			t.Fatalf("%d instances are desired, want the %d of the change, which is durable", got, two)
		}
		if n := len(y.assigned(h)); n != two {
			t.Errorf("%d instances run, want %d", n, two)
		}
	})
}
