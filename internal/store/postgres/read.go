package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqltext"
)

// state reads the fence and the logs' last numbers; for a cell without an owner so far
// they are zero.
func (db *db) state(ctx context.Context, tx pgx.Tx) (store.State, error) {
	state := store.State{Last: make([]uint64, len(db.schema.Logs))}
	var now int64
	f := &state.Fence
	err := tx.QueryRow(ctx, `SELECT "owner", "epoch", "seq", "now" FROM "muster_cell" WHERE "name" = $1`, db.cell).
		Scan(&f.Owner, &f.Epoch, &f.Seq, &now)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return state, fmt.Errorf("read fence: %w", err)
	}
	state.Now = sqltext.Moment(now)
	for i, l := range db.schema.Logs {
		err := tx.QueryRow(ctx, `SELECT "last" FROM "muster_log" WHERE "name" = $1`, l.Name).Scan(&state.Last[i])
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return state, fmt.Errorf("read last number of %s: %w", l.Name, err)
		}
	}
	return state, nil
}

// Archived reads archived documents.
func (db *db) Archived(ctx context.Context, table int, q store.Query) ([][]byte, error) {
	text, args := dialect().Archived(db.schema.Tables[table], q)
	return list(ctx, db, func(row pgx.CollectableRow) ([]byte, error) {
		var doc string
		err := row.Scan(&doc)
		return []byte(doc), err
	}, text, args)
}

// Entries reads log entries.
func (db *db) Entries(ctx context.Context, log int, q store.LogQuery) ([]store.StoredEntry, error) {
	text, args := dialect().Entries(db.schema.Logs[log], q)
	return list(ctx, db, func(row pgx.CollectableRow) (store.StoredEntry, error) {
		var e store.StoredEntry
		var ms int64
		var doc string
		err := row.Scan(&e.Seq, &ms, &doc)
		e.Time, e.Doc = sqltext.Moment(ms), []byte(doc)
		return e, err
	}, text, args)
}

// list runs a query and returns all rows.
func list[T any](ctx context.Context, db *db, scan pgx.RowToFunc[T], text string, args []any) ([]T, error) {
	return again(func() ([]T, error) {
		rows, err := db.reader.Query(ctx, text, args...)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, scan)
	})
}

// Prune removes expired rows, table by table, until limit is reached.
func (db *db) Prune(ctx context.Context, now time.Time, limit int) (int, error) {
	pruned := 0
	remove := func(text string, before int64) error {
		if pruned >= limit {
			return nil
		}
		tag, err := db.writer.Exec(ctx, text, before, limit-pruned)
		pruned += int(tag.RowsAffected())
		return err
	}
	for _, t := range db.schema.Tables {
		if t.Retention <= 0 {
			continue
		}
		name := sqltext.Quote(sqltext.ArchiveOf(t.Name))
		text := `DELETE FROM ` + name + ` WHERE "key" IN (SELECT "key" FROM ` + name + ` WHERE "expires_at" <= $1 LIMIT $2)`
		if err := remove(text, sqltext.Millis(now)); err != nil {
			return pruned, err
		}
	}
	for _, l := range db.schema.Logs {
		if l.Retention <= 0 {
			continue
		}
		text := `DELETE FROM ` + sqltext.Quote(l.Name) + ` WHERE "seq" IN (` + dialect().Expired(l) + `)`
		if err := remove(text, sqltext.Millis(now.Add(-l.Retention))); err != nil {
			return pruned, err
		}
	}
	return pruned, nil
}

// SetBack sets the time of log entries later than now to now.
func (db *db) SetBack(ctx context.Context, now time.Time) error {
	for _, l := range db.schema.Logs {
		if _, err := db.writer.Exec(ctx, dialect().SetBack(l), sqltext.Millis(now)); err != nil {
			return err
		}
	}
	return nil
}
