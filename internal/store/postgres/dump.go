package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqltext"
)

// Dump reads everything stored for the schema.
func (db *db) Dump(ctx context.Context, item func(store.Item) error) (store.State, error) {
	var state store.State
	err := db.view(ctx, func(tx pgx.Tx) (err error) {
		for _, part := range sqltext.Parts(db.schema) {
			if err := dumpPart(ctx, tx, part, item); err != nil {
				return fmt.Errorf("read %s: %w", part.Name, err)
			}
		}
		state, err = db.state(ctx, tx)
		return err
	})
	return state, err
}

func dumpPart(ctx context.Context, tx pgx.Tx, part sqltext.Part, item func(store.Item) error) error {
	rows, err := tx.Query(ctx, part.Select())
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		it, err := part.Scan(rows)
		if err != nil {
			return err
		}
		if err := item(it); err != nil {
			return err
		}
	}
	return rows.Err()
}

// fillAtOnce is how many rows a restore sends per round trip.
const fillAtOnce = 500

// Fill stores a dump in an empty schema.
func (db *db) Fill(ctx context.Context, items func(add func(store.Item) error) (store.State, error)) error {
	return db.write(ctx, func(tx pgx.Tx) error {
		parts := sqltext.Parts(db.schema)
		if err := refuseRows(ctx, tx, parts); err != nil {
			return err
		}
		batch := &pgx.Batch{}
		state, err := items(func(it store.Item) error {
			part, err := sqltext.PartOf(parts, it)
			if err != nil {
				return err
			}
			batch.Queue(part.Insert(dialect()), part.Values(it)...)
			if batch.Len() < fillAtOnce {
				return nil
			}
			full := batch
			batch = &pgx.Batch{}
			return tx.SendBatch(ctx, full).Close()
		})
		if err != nil {
			return err
		}
		db.queueState(batch, state)
		return tx.SendBatch(ctx, batch).Close()
	})
}

// refuseRows returns ErrNotEmpty if anything is stored already.
func refuseRows(ctx context.Context, tx pgx.Tx, parts []sqltext.Part) error {
	for _, part := range parts {
		var n int
		if err := tx.QueryRow(ctx, part.Any()).Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			return fmt.Errorf("%w: table %s has rows", store.ErrNotEmpty, part.Name)
		}
	}
	return nil
}

func (db *db) queueState(batch *pgx.Batch, state store.State) {
	f := state.Fence
	batch.Queue(`DELETE FROM "muster_cell"`)
	batch.Queue(`INSERT INTO "muster_cell" ("name", "owner", "epoch", "seq", "now") VALUES ($1, $2, $3, $4, $5)`,
		db.cell, f.Owner, int64(f.Epoch), int64(f.Seq), sqltext.Millis(state.Now))
	batch.Queue(`DELETE FROM "muster_log"`)
	for i, l := range db.schema.Logs {
		batch.Queue(`INSERT INTO "muster_log" ("name", "last") VALUES ($1, $2)`, l.Name, int64(state.Last[i]))
	}
}
