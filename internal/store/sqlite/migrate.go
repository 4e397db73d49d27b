package sqlite

import (
	"context"
	"fmt"

	"github.com/musterhq/muster/internal/feature"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqltext"
)

// migrate creates missing tables, columns and indexes in one transaction.
func (db *db) migrate(ctx context.Context) error {
	return db.write(ctx, func() error {
		for _, text := range append(dialect().System(), db.Begin()) {
			if _, err := db.conn.ExecContext(ctx, text); err != nil {
				return err
			}
		}
		if _, err := db.Cell.Level(query(ctx, db.conn)); err != nil {
			return err
		}
		for _, table := range dialect().Tables(db.Schema) {
			if err := db.grow(ctx, table); err != nil {
				return fmt.Errorf("table %s: %w", table.Name, err)
			}
		}
		return nil
	})
}

// grow creates a table, or adds what an older one lacks.
func (db *db) grow(ctx context.Context, table sqltext.SQLTable) error {
	if _, err := db.conn.ExecContext(ctx, table.Create); err != nil {
		return err
	}
	there, err := db.columnsOf(ctx, table.Name)
	if err != nil {
		return err
	}
	for name, kind := range table.Columns {
		if there[name] {
			continue
		}
		text := fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s %s", sqltext.Quote(table.Name), sqltext.Quote(name), kind)
		if _, err := db.conn.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	for _, text := range table.Indexes {
		if _, err := db.conn.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

func (db *db) columnsOf(ctx context.Context, table string) (map[string]bool, error) {
	columns := map[string]bool{}
	err := query(ctx, db.conn)(func(row sqltext.Row) error {
		var name string
		err := row.Scan(&name)
		columns[name] = true
		return err
	}, "SELECT name FROM pragma_table_info($1)", table)
	return columns, err
}

func (db *db) Grown(ctx context.Context) (bool, error) {
	settled, err := db.Settled(db.ask(ctx))
	return settled != db.Schema.Signature(), err
}

func (db *db) SetColumns(ctx context.Context, items []store.Item) error {
	return db.write(ctx, func() error { return db.Cell.SetColumns(db.run, items) })
}

func (db *db) Level(ctx context.Context) (feature.Level, error) { return db.Cell.Level(db.ask(ctx)) }

func (db *db) Raise(ctx context.Context, level feature.Level) error {
	return db.write(ctx, func() error { return db.Cell.Raise(db.run, level) })
}

func (db *db) Settle(ctx context.Context) error {
	return db.write(ctx, func() error { return db.Cell.Settle(db.run) })
}
