package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strconv"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqltext"
)

// version is the version of the layout that all drivers share; a newer one is
// refused.
const version = 1

// sign writes this process's id into the lock file.
func sign(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// migrate creates missing tables, columns and indexes in one transaction.
func (db *db) migrate(ctx context.Context) error {
	return db.write(ctx, func() error {
		for _, text := range dialect().System() {
			if _, err := db.conn.ExecContext(ctx, text); err != nil {
				return err
			}
		}
		if err := db.checkVersion(ctx); err != nil {
			return err
		}
		for _, table := range dialect().Tables(db.schema) {
			if err := db.grow(ctx, table); err != nil {
				return fmt.Errorf("table %s: %w", table.Name, err)
			}
		}
		return nil
	})
}

// checkVersion refuses the layout of a newer release, and stores the version of a new
// file, which has no rows that could lack columns.
func (db *db) checkVersion(ctx context.Context) error {
	var found int
	err := db.conn.QueryRowContext(ctx, `SELECT "version" FROM "muster_schema"`).Scan(&found)
	if err == sql.ErrNoRows {
		_, err := db.conn.ExecContext(ctx, `INSERT INTO "muster_schema" VALUES (?1, ?2)`, version, db.schema.Signature())
		return err
	}
	if err != nil {
		return err
	}
	if found > version {
		return fmt.Errorf("the database has layout %d, this program knows %d: it was written by a newer release", found, version)
	}
	return nil
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
	rows, err := db.conn.QueryContext(ctx, "SELECT name FROM pragma_table_info(?1)", table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns := map[string]bool{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		columns[name] = true
	}
	return columns, rows.Err()
}

// Grown compares the schema's columns with those that all rows have.
func (db *db) Grown(ctx context.Context) (bool, error) {
	var settled string
	err := db.reader.QueryRowContext(ctx, `SELECT "columns" FROM "muster_schema"`).Scan(&settled)
	return settled != db.schema.Signature(), err
}

// SetColumns stores the columns of rows and entries.
func (db *db) SetColumns(ctx context.Context, items []store.Item) error {
	return db.write(ctx, func() error {
		parts := sqltext.Parts(db.schema)
		for _, it := range items {
			part, err := sqltext.PartOf(parts, it)
			if err != nil {
				return err
			}
			if err := db.exec(part.SetColumns(dialect()), part.ColumnValues(it)...); err != nil {
				return fmt.Errorf("%s %q: %w", part.Name, it.Key, err)
			}
		}
		return nil
	})
}

// Settle records that all rows have the columns of this schema.
func (db *db) Settle(ctx context.Context) error {
	return db.write(ctx, func() error { return db.exec(`UPDATE "muster_schema" SET "columns" = ?1`, db.schema.Signature()) })
}
