package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqltext"
)

// version is the version of the layout that all drivers share; a newer one is refused.
const version = 1

// migrateLock keeps nodes from migrating concurrently.
const migrateLock = 0x6d75737465720001

// migrate creates the schema and its missing tables, columns and indexes.
func (db *db) migrate(ctx context.Context) error {
	made, err := db.made(ctx)
	if err != nil || made {
		return err
	}
	return db.makeTables(ctx)
}

// made reports whether the schema's comment says that all its tables are those of this
// program: one query instead of hundreds of statements without effect.
func (db *db) made(ctx context.Context) (bool, error) {
	found, err := again(func() (found string, err error) {
		err = db.writer.QueryRow(ctx, `SELECT coalesce(obj_description(to_regnamespace($1), 'pg_namespace'), '')`,
			pgx.QueryExecModeExec, db.space).Scan(&found)
		return found, err
	})
	if err != nil {
		return false, fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	return found == db.layout(), nil
}

// layout returns a hash of everything that migrate creates.
func (db *db) layout() string {
	h := sha256.New()
	write := func(texts ...string) {
		for _, text := range texts {
			fmt.Fprintf(h, "%d %s", len(text), text)
		}
	}
	write(dialect().System()...)
	for _, table := range dialect().Tables(db.schema) {
		write(table.Create)
		write(slices.Sorted(maps.Keys(table.Columns))...)
		write(table.Indexes...)
	}
	return fmt.Sprintf("muster layout %d %x", version, h.Sum(nil)[:8])
}

// makeTables creates what is missing, in two round trips. A cell whose tables are new
// has no rows that could lack columns.
func (db *db) makeTables(ctx context.Context) error {
	conn, err := db.writer.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	wire := conn.Conn().PgConn()
	err = db.migrateTables(ctx, wire)
	if err != nil && wire.TxStatus() != 'I' {
		err = errors.Join(err, execAll(context.WithoutCancel(ctx), wire, []string{"ROLLBACK"}))
	}
	return err
}

// migrateTables runs the migration as one transaction. It checks the existing layout before it
// changes any table.
func (db *db) migrateTables(ctx context.Context, wire *pgconn.PgConn) error {
	begin := append([]string{
		"BEGIN", fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", int64(migrateLock)), "CREATE SCHEMA IF NOT EXISTS " + db.space,
	}, dialect().System()...)
	begin = append(begin,
		fmt.Sprintf(`INSERT INTO "muster_schema" SELECT %d, %s WHERE NOT EXISTS (SELECT FROM "muster_schema")`, version, quoted(db.schema.Signature())),
		`SELECT "version" FROM "muster_schema"`)
	results, err := wire.Exec(ctx, strings.Join(begin, ";\n")).ReadAll()
	if err != nil {
		return err
	}
	found, err := strconv.Atoi(string(results[len(results)-1].Rows[0][0]))
	if err == nil {
		err = checkVersion(found)
	}
	if err != nil {
		return err
	}
	var texts []string
	for _, table := range dialect().Tables(db.schema) {
		texts = append(texts, tableStatements(table)...)
	}
	return execAll(ctx, wire, append(texts, "COMMENT ON SCHEMA "+db.space+" IS "+quoted(db.layout()), "COMMIT"))
}

// quoted returns a text as a string literal of SQL.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// execAll runs statements without arguments, in one round trip.
func execAll(ctx context.Context, wire *pgconn.PgConn, texts []string) error {
	_, err := wire.Exec(ctx, strings.Join(texts, ";\n")).ReadAll()
	return err
}

// checkVersion returns an error for the layout of a newer release.
func checkVersion(found int) error {
	if found > version {
		return fmt.Errorf("the schema has layout %d, this program knows %d: it was written by a newer release", found, version)
	}
	return nil
}

// tableStatements returns the statements that create a table, or add what an older one lacks.
func tableStatements(table sqltext.SQLTable) []string {
	texts := []string{table.Create}
	for name, kind := range table.Columns {
		texts = append(texts, fmt.Sprintf("ALTER TABLE %s ADD COLUMN IF NOT EXISTS %s %s",
			sqltext.Quote(table.Name), sqltext.Quote(name), kind))
	}
	return append(texts, table.Indexes...)
}

// Grown compares the schema's columns with those that all rows had when the cell was
// last taken or settled.
func (db *db) Grown(ctx context.Context) (bool, error) {
	if db.settled == nil {
		var settled string
		if err := db.reader.QueryRow(ctx, `SELECT "columns" FROM "muster_schema"`).Scan(&settled); err != nil {
			return false, err
		}
		db.settled = &settled
	}
	return *db.settled != db.schema.Signature(), nil
}

// SetColumns stores the columns of rows and entries.
func (db *db) SetColumns(ctx context.Context, items []store.Item) error {
	parts := sqltext.Parts(db.schema)
	batch := &pgx.Batch{}
	for _, it := range items {
		part, err := sqltext.PartOf(parts, it)
		if err != nil {
			return err
		}
		batch.Queue(part.SetColumns(dialect()), part.ColumnValues(it)...)
	}
	return db.writer.SendBatch(ctx, batch).Close()
}

// Settle records that all rows have the columns of this schema.
func (db *db) Settle(ctx context.Context) error {
	db.settled = nil
	_, err := db.writer.Exec(ctx, `UPDATE "muster_schema" SET "columns" = $1`, db.schema.Signature())
	return err
}
