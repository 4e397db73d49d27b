package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqltext"
)

func (db *db) Dump(ctx context.Context, item func(store.Item) error) (state store.State, err error) {
	err = db.view(ctx, func(tx pgx.Tx) error {
		state, err = db.Cell.Dump(query(ctx, tx), item)
		return err
	})
	return state, err
}

func (db *db) Fill(ctx context.Context, items func(add func(store.Item) error) (store.State, error)) error {
	return pgx.BeginFunc(ctx, db.writer, func(tx pgx.Tx) error {
		b := &batches{ctx: ctx, on: tx}
		all, err := readPartitions(query(ctx, tx)) // they may be empty
		if err != nil {
			return err
		}
		before := func(table string, retention time.Duration, at time.Time) error {
			return all.prepare(b.exec, table, retention, at)
		}
		if err := db.Cell.Fill(query(ctx, tx), b.exec, before, items); err != nil {
			return err
		}
		return b.send()
	})
}

// prepare creates the partition of a table for a time, as it is stored, if it is not in all.
func (all partitions) prepare(exec sqltext.Exec, table string, retention time.Duration, at time.Time) error {
	at = time.UnixMilli(sqltext.Millis(at)).UTC()
	if _, ok := covering(all[table], at); ok {
		return nil
	}
	part := missing(table, all[table], at, retention)
	for _, text := range part.create(table) {
		if _, err := exec(text); err != nil {
			return err
		}
	}
	all[table] = append(all[table], part)
	sortByTime(all[table])
	return nil
}

func (db *db) SetColumns(ctx context.Context, items []store.Item) error {
	b := &batches{ctx: ctx, on: db.writer}
	if err := db.Cell.SetColumns(b.exec, items); err != nil {
		return err
	}
	return b.send()
}

// batches sends statements many at a time, each time in one round trip.
type batches struct {
	ctx context.Context
	on  interface {
		SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	}
	waiting pgx.Batch
}

const batchSize = 500

// exec adds a statement, and sends those that wait when there are batchSize. It always
// returns 0 rows; the error may be that of an earlier statement.
func (b *batches) exec(text string, args ...any) (int64, error) {
	b.waiting.Queue(text, args...)
	if b.waiting.Len() < batchSize {
		return 0, nil
	}
	return 0, b.send()
}

// send sends the statements that wait.
func (b *batches) send() error {
	full := b.waiting
	b.waiting = pgx.Batch{}
	return b.on.SendBatch(b.ctx, &full).Close()
}
