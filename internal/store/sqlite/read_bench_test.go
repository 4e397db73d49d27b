package sqlite_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqlite"
)

// BenchmarkArchived reads one archived row by its key.
func BenchmarkArchived(b *testing.B) {
	schema := store.Schema{Tables: []store.TableSchema{{Name: "ended", Retention: time.Hour, Columns: []store.ColumnSchema{{Name: "group"}}}}}
	db, err := sqlite.New(b.TempDir()).Open(b.Context(), "cell", schema)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	fence, err := db.Take(b.Context(), "owner")
	if err != nil {
		b.Fatal(err)
	}
	rows := make([]store.StoredRow, 10000)
	for i := range rows {
		rows[i] = store.StoredRow{Key: fmt.Sprint("key-", i), Doc: []byte(`{}`), Columns: []string{""}, Time: time.Now()}
	}
	batch := &store.Batch{Fence: fence, Seq: 1, Now: time.Now(), Tables: []store.TableBatch{{Archives: rows}}}
	if err := db.Commit(b.Context(), batch); err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		q := store.Query{Where: []store.Eq{{Column: "key", Value: rows[i%len(rows)].Key}}, OrderBy: "key", Limit: 1}
		if docs, err := db.Archived(b.Context(), 0, q); err != nil || len(docs) != 1 {
			b.Fatal(docs, err)
		}
	}
}
