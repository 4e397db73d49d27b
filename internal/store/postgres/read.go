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

func (db *db) Prune(ctx context.Context, now time.Time, limit int) (int, error) {
	n, err := db.Cell.Prune(db.exec(ctx), now, limit)
	if err != nil {
		return n, err
	}
	changed, err := db.pruneChanged(ctx, now, limit)
	return max(n, changed), err
}

func (db *db) SetBack(ctx context.Context, now time.Time) error {
	return db.Cell.SetBack(db.exec(ctx), now)
}
