package postgres

import (
	"context"
	"time"

	"github.com/musterhq/muster/internal/store"
)

func (db *db) Archived(ctx context.Context, table int, q store.Query) ([][]byte, error) {
	return again(func() ([][]byte, error) { return db.Cell.Archived(query(ctx, db.reader), table, q) })
}

func (db *db) ArchivedKeys(ctx context.Context, table int, after string, limit int) ([]string, error) {
	return again(func() ([]string, error) {
		return db.Cell.ArchivedKeys(query(ctx, db.reader), table, after, limit)
	})
}

func (db *db) Entries(ctx context.Context, log int, q store.LogQuery) ([]store.StoredEntry, error) {
	return again(func() ([]store.StoredEntry, error) { return db.Cell.Entries(query(ctx, db.reader), log, q) })
}

// Prune deletes what no standby needs any more, and drops partitions, whose rows are not counted.
// All of it may be repeated, so a connection that was cut does not end it.
func (db *db) Prune(ctx context.Context, p store.Pruning) (int, error) {
	n, err := again(func() (int, error) { return db.pruneCommits(ctx, p.Now, p.Rows) })
	if err != nil || n >= p.Rows {
		return n, err
	}
	_, err = again(func() (struct{}, error) { return struct{}{}, db.keepPartitions(ctx, p) })
	return n, err
}

// SetBack also moves entries to the partition of now.
func (db *db) SetBack(ctx context.Context, now time.Time) error {
	all, err := readPartitions(query(ctx, db.reader))
	if err != nil {
		return err
	}
	defer db.parted.forget()
	for _, l := range db.Schema.Logs {
		if _, ok := covering(all[l.Name], now); ok || len(all[l.Name]) == 0 {
			continue
		}
		if err := db.guarded(ctx, missing(l.Name, all[l.Name], now, l.Retention).create(l.Name)...); err != nil {
			return err
		}
	}
	return db.Cell.SetBack(db.exec(ctx), now)
}
