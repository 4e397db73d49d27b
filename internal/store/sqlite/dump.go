package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqltext"
)

// Dump reads everything stored for the schema.
func (db *db) Dump(ctx context.Context, item func(store.Item) error) (store.State, error) {
	var state store.State
	err := db.view(ctx, func(conn *sql.Conn) (err error) {
		for _, part := range sqltext.Parts(db.schema) {
			scan := func(rows *sql.Rows) error {
				it, err := part.Scan(rows)
				if err != nil {
					return err
				}
				return item(it)
			}
			if err := each(ctx, conn, scan, part.Select()); err != nil {
				return fmt.Errorf("read %s: %w", part.Name, err)
			}
		}
		state, err = db.state(ctx, conn)
		return err
	})
	return state, err
}

// Fill stores a dump in an empty database.
func (db *db) Fill(ctx context.Context, items func(add func(store.Item) error) (store.State, error)) error {
	return db.write(ctx, func() error {
		parts := sqltext.Parts(db.schema)
		if err := db.refuseRows(ctx, parts); err != nil {
			return err
		}
		state, err := items(func(it store.Item) error {
			part, err := sqltext.PartOf(parts, it)
			if err != nil {
				return err
			}
			return db.exec(part.Insert(dialect()), part.Values(it)...)
		})
		if err != nil {
			return err
		}
		return db.setState(state)
	})
}

// refuseRows returns ErrNotEmpty if anything is stored already.
func (db *db) refuseRows(ctx context.Context, parts []sqltext.Part) error {
	for _, part := range parts {
		var n int
		if err := db.conn.QueryRowContext(ctx, part.Any()).Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			return fmt.Errorf("%w: table %s has rows", store.ErrNotEmpty, part.Name)
		}
	}
	return nil
}

func (db *db) setState(state store.State) error {
	f := state.Fence
	err := db.exec(`INSERT OR REPLACE INTO "muster_cell" ("name", "owner", "epoch", "seq", "now") VALUES (?1, ?2, ?3, ?4, ?5)`,
		db.cell, f.Owner, int64(f.Epoch), int64(f.Seq), sqltext.Millis(state.Now))
	if err != nil {
		return err
	}
	for i, l := range db.schema.Logs {
		if err := db.exec(`INSERT OR REPLACE INTO "muster_log" ("name", "last") VALUES (?1, ?2)`, l.Name, int64(state.Last[i])); err != nil {
			return err
		}
	}
	return nil
}

// Backup writes the database to a new file, over a separate connection, even while it
// is in use. The file is synced before Backup returns.
func (d *Driver) Backup(ctx context.Context, file string) error {
	db := &db{}
	if err := db.connectReader(d.file); err != nil {
		return err
	}
	defer db.Close()
	if err := create(file); err != nil {
		return fmt.Errorf("back up %s: %w", d.file, err)
	}
	if _, err := db.reader.ExecContext(ctx, "VACUUM INTO ?1", file); err != nil {
		return errors.Join(fmt.Errorf("back up %s: %w", d.file, err), os.Remove(file))
	}
	return syncFile(file)
}
