package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/musterhq/muster/internal/store"
)

func (db *db) Dump(ctx context.Context, item func(store.Item) error) (state store.State, err error) {
	err = db.view(ctx, func(conn *sql.Conn) error {
		state, err = db.Cell.Dump(query(ctx, conn), item)
		return err
	})
	return state, err
}

func (db *db) Fill(ctx context.Context, items func(add func(store.Item) error) (store.State, error)) error {
	return db.write(ctx, func() error { return db.Cell.Fill(query(ctx, db.conn), db.run, anywhere, items) })
}

// anywhere is what Fill does before it stores what has ended: tables of SQLite have no
// partitions.
func anywhere(string, time.Duration, time.Time) error { return nil }

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
