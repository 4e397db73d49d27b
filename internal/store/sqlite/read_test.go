package sqlite_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// A look-up by key ends with its context while all reading connections are in use, and
// finds the row once one is free.
func TestArchived_WaitsForAConnection(t *testing.T) {
	t.Parallel()
	db, commit := owned(t, store.Schema{Tables: []store.TableSchema{{Name: "thing", Retention: time.Hour}}})
	row := []store.StoredRow{{Key: "a", Doc: []byte(`{}`), Time: noon}}
	if err := commit(&store.Batch{Tables: []store.TableBatch{{Puts: row, Archives: row}}}); err != nil {
		t.Fatal(err)
	}
	const readers = 4
	busy, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for range readers {
		all.Go(func() {
			_, err := db.Load(context.Background(), func(int, string, []byte) error {
				busy <- struct{}{}
				<-release
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	for range readers {
		<-busy
	}
	look := store.Query{Where: []store.Eq{{Column: "key", Value: "a"}}, OrderBy: "key", Limit: 1}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := db.Archived(ctx, 0, look); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while all connections are in use: %v, want that the context has ended", err)
	}
	close(release)
	all.Wait()
	if found, err := db.Archived(t.Context(), 0, look); err != nil || len(found) != 1 {
		t.Errorf("afterward: %q, %v, want one row", found, err)
	}
}
