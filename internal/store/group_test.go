package store_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/musterhq/muster/internal/store"
)

// On one processor, callers that can run join a group before it is committed: the journal
// does not commit the first one's command alone.
func TestGroup_OneProcessor(t *testing.T) { // not parallel: it sets the number of processors for all
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	driver, h := openFlaky(t, store.Options{})
	commits := 0
	driver.set(func(do func() error) error {
		commits++
		return do()
	})
	const callers, rounds = 64, 20
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for range rounds {
				if _, err := h.put.Do(t.Context(), ship{ID: fmt.Sprint("ship-", i)}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if most := callers * rounds / 8; commits > most {
		t.Errorf("%d commands of %d callers took %d commits, want at most %d", callers*rounds, callers, commits, most)
	}
}

// watched is a memory driver that shows what is committed.
type watched struct {
	*store.Memory
	show func(*store.Batch)
}

type watchedDB struct {
	store.DB
	show func(*store.Batch)
}

func (w watched) Open(ctx context.Context, cell string, schema store.Schema) (store.DB, error) {
	db, err := w.Memory.Open(ctx, cell, schema)
	return watchedDB{db, w.show}, err
}

func (db watchedDB) Commit(ctx context.Context, b *store.Batch) error {
	db.show(b)
	return db.DB.Commit(ctx, b)
}

// A driver is told of each row whether SQL has it, once the batch's deletes are applied.
func TestGroup_NewRows(t *testing.T) {
	t.Parallel()
	var put store.StoredRow
	var deletes int
	h := openHarbour(t, store.Options{Driver: watched{store.NewMemory(), func(b *store.Batch) {
		put, deletes = b.Tables[0].Puts[0], len(b.Tables[0].Deletes)
	}}})
	for _, step := range []struct {
		what      string
		change    func(tx *store.Tx)
		new, same bool
		deletes   int
	}{
		{"a first row", func(tx *store.Tx) { h.ships.Put(tx, &ship{ID: "a"}) }, true, false, 0},
		{"the same again", func(tx *store.Tx) { h.ships.Put(tx, &ship{ID: "a"}) }, false, true, 0},
		{"another column", func(tx *store.Tx) { h.ships.Put(tx, &ship{ID: "a", Berth: "north"}) }, false, false, 0},
		{"a unique value given up", func(tx *store.Tx) { h.ships.Put(tx, &ship{ID: "a", Berth: "south"}) }, true, false, 1},
		{"deleted and put", func(tx *store.Tx) { h.ships.Delete(tx, "a"); h.ships.Put(tx, &ship{ID: "a", Berth: "south"}) }, false, true, 0},
		{"archived and put", func(tx *store.Tx) { h.ships.Archive(tx, "a"); h.ships.Put(tx, &ship{ID: "a", Berth: "south"}) }, false, true, 0},
		{"put, deleted and put", func(tx *store.Tx) {
			h.ships.Put(tx, &ship{ID: "b"})
			h.ships.Delete(tx, "b")
			h.ships.Put(tx, &ship{ID: "b"})
		}, true, false, 0},
	} {
		err := h.Update(t.Context(), func(tx *store.Tx) error { step.change(tx); return nil })
		if err != nil {
			t.Fatal(err)
		}
		if put.New != step.new || put.Same != step.same || deletes != step.deletes {
			t.Errorf("%s: new %t, same %t, %d deletes; want %t, %t, %d", step.what, put.New, put.Same, deletes, step.new, step.same, step.deletes)
		}
	}
}
