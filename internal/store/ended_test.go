package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

// counting is a memory driver that counts the queries of archives.
type counting struct {
	*flaky
	queries atomic.Int64
	keys    func() error // runs before keys are returned; nil: nothing
}

func (d *counting) Open(ctx context.Context, cell string, schema store.Schema) (store.DB, error) {
	db, err := d.flaky.Open(ctx, cell, schema)
	return &countingDB{db, d}, err
}

type countingDB struct {
	store.DB
	driver *counting
}

func (db *countingDB) Archived(ctx context.Context, table int, q store.Query) ([][]byte, error) {
	db.driver.queries.Add(1)
	return db.DB.Archived(ctx, table, q)
}

func (db *countingDB) ArchivedKeys(ctx context.Context, table int, after string, limit int) ([]string, error) {
	keys, err := db.DB.ArchivedKeys(ctx, table, after, limit)
	if err == nil && db.driver.keys != nil {
		err = db.driver.keys()
	}
	return keys, err
}

// archivedShip reports whether a ship is found in the archive by its key, and whether that
// took a query.
func (d *counting) archivedShip(t *testing.T, h *harbour, id string) (found, asked bool) {
	t.Helper()
	before := d.queries.Load()
	byKey := must[[]*ship](t)(h.ships.Archived(t.Context(), store.Query{Where: []store.Eq{{Column: "key", Value: id}}, Limit: 1}))
	asked = d.queries.Load() > before
	among := must[[]*ship](t)(h.ships.Archived(t.Context(), store.Query{Keys: []string{"never", id}, Limit: 2}))
	if len(among) != len(byKey) {
		t.Errorf("%q: %d rows by key, %d of keys", id, len(byKey), len(among))
	}
	return len(byKey) == 1, asked
}

func (h *harbour) end(t *testing.T, ids ...string) {
	t.Helper()
	for _, id := range ids {
		must[string](t)(h.put.Do(t.Context(), ship{ID: id}))
		must[bool](t)(h.sail.Do(t.Context(), id))
	}
}

// TestArchived_SparesQueries looks up keys that this owner and an earlier one archived, and
// keys that nobody did, which needs no query once all keys were read.
func TestArchived_SparesQueries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &counting{flaky: &flaky{Memory: store.NewMemory()}}
		h := openHarbour(t, store.Options{Driver: d})
		h.end(t, "first", "second")
		h.Close()
		h = openHarbour(t, store.Options{Driver: d})
		if found, asked := d.archivedShip(t, h, "first"); !found || !asked {
			t.Errorf("before the keys were read: found %v, asked %v", found, asked)
		}
		synctest.Wait()
		h.end(t, "third")
		for _, id := range []string{"first", "second", "third"} {
			if found, asked := d.archivedShip(t, h, id); !found || !asked {
				t.Errorf("%s: found %v, asked %v", id, found, asked)
			}
		}
		if found, asked := d.archivedShip(t, h, "never"); found || asked {
			t.Errorf("never archived: found %v, asked %v", found, asked)
		}
		if _, asked := d.archivedShip(t, h, "\xff"); !asked { // SQL replaces such bytes
			t.Error("a key that is not UTF-8 was not looked up")
		}
	})
}

// TestArchived_WhileKeysAreRead archives a row after the keys were read and before they
// are known.
func TestArchived_WhileKeysAreRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reading, goOn := make(chan struct{}), make(chan struct{})
		d := &counting{flaky: &flaky{Memory: store.NewMemory()}, keys: func() error { close(reading); <-goOn; return nil }}
		h := openHarbour(t, store.Options{Driver: d})
		d.archivedShip(t, h, "never")
		<-reading
		h.end(t, "late")
		close(goOn)
		synctest.Wait()
		if found, _ := d.archivedShip(t, h, "late"); !found {
			t.Error("a row that was archived while keys were read is not found")
		}
		if _, asked := d.archivedShip(t, h, "never"); asked {
			t.Error("a query, though the keys were read")
		}
	})
}

// TestArchived_AfterReload archives by a commit that fails although it happened, so that
// only reading the state again shows it, once before and once while keys are read.
func TestArchived_AfterReload(t *testing.T) {
	t.Parallel()
	for _, during := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := &counting{flaky: &flaky{Memory: store.NewMemory()}}
			reading, goOn := make(chan struct{}, 9), make(chan struct{})
			if during {
				d.keys = func() error { reading <- struct{}{}; <-goOn; return nil }
			}
			h := openHarbour(t, store.Options{Driver: d})
			must[string](t)(h.put.Do(t.Context(), ship{ID: "lost"}))
			d.archivedShip(t, h, "never")
			if during {
				<-reading
			}
			synctest.Wait()
			d.nextCommit(func(do func() error) error { return errors.Join(do(), errDisk) })
			if _, err := h.sail.Do(t.Context(), "lost"); err == nil {
				t.Fatal("a failed commit was acknowledged")
			}
			synctest.Wait()
			close(goOn)
			synctest.Wait()
			for range 2 { // before and after the keys are read again
				if found, _ := d.archivedShip(t, h, "lost"); !found {
					t.Error("the row is not found")
				}
				synctest.Wait()
			}
			if _, asked := d.archivedShip(t, h, "never"); asked {
				t.Error("a query, though the keys were read again")
			}
		})
	}
}

// TestArchived_KeysUnread answers by SQL while keys cannot be read, and reads them later.
func TestArchived_KeysUnread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failing := atomic.Bool{}
		failing.Store(true)
		d := &counting{flaky: &flaky{Memory: store.NewMemory()}, keys: func() error {
			if failing.Load() {
				return errDisk
			}
			return nil
		}}
		h := openHarbour(t, store.Options{Driver: d})
		h.end(t, "first")
		for range 3 {
			if found, _ := d.archivedShip(t, h, "first"); !found {
				t.Error("first is not found")
			}
			if _, asked := d.archivedShip(t, h, "never"); !asked {
				t.Error("no query, though the keys are unknown")
			}
			synctest.Wait()
		}
		failing.Store(false)
		for asked := true; asked; { // virtual time passes
			_, asked = d.archivedShip(t, h, "never")
			wait.Pass(time.Second)
		}
		if found, _ := d.archivedShip(t, h, "first"); !found {
			t.Error("first is not found")
		}
	})
}

// TestArchived_KeysReadAgain archives so many rows that their keys are read again, in the
// midst of look-ups.
func TestArchived_KeysReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		readings := atomic.Int64{}
		d := &counting{flaky: &flaky{Memory: store.NewMemory()}, keys: func() error { readings.Add(1); return nil }}
		h := openHarbour(t, store.Options{Driver: d})
		d.archivedShip(t, h, "never")
		synctest.Wait()
		before := readings.Load()
		for from := 0; from < 34_000; from += 1000 {
			err := h.Update(t.Context(), func(tx *store.Tx) error {
				for i := from; i < from+1000; i++ {
					id := fmt.Sprint("ship-", i)
					h.ships.Put(tx, &ship{ID: id})
					h.ships.Archive(tx, id)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if found, _ := d.archivedShip(t, h, fmt.Sprint("ship-", from)); !found {
				t.Fatalf("ship-%d is not found", from)
			}
		}
		synctest.Wait()
		if n := readings.Load() - before; n != 4 {
			t.Errorf("34,000 rows: %d pages of keys were read again, want 4", n)
		}
		if _, asked := d.archivedShip(t, h, "never"); asked {
			t.Error("a query, though the keys were read again")
		}
	})
}
