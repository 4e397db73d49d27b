package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/musterhq/muster/internal/feature"
	"github.com/musterhq/muster/internal/store/sqltext"
)

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
// program: one query instead of hundreds of statements without effect. It returns an error if
// this program's role may not create the partitions that its commits need, or write
// muster_commit.
func (db *db) made(ctx context.Context) (bool, error) {
	var found, role string
	var may bool
	_, err := again(func() (struct{}, error) {
		return struct{}{}, db.writer.QueryRow(ctx, `SELECT coalesce(obj_description(to_regnamespace($1), 'pg_namespace'), ''), quote_ident(current_user),
			coalesce(has_schema_privilege(to_regnamespace($1), 'CREATE'), true) AND NOT EXISTS (
				SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace($1) AND (relkind = 'p' AND NOT pg_has_role(relowner, 'USAGE')
					OR relname = 'muster_commit' AND NOT (has_table_privilege(oid, 'INSERT') AND has_table_privilege(oid, 'DELETE'))))`,
			pgx.QueryExecModeExec, db.space).Scan(&found, &role, &may)
	})
	if err != nil {
		return false, fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	if !may {
		return false, fmt.Errorf("commits create partitions: the role %[1]s must be allowed to create tables in the schema %[2]s and own those in it; "+
			"run ALTER SCHEMA %[2]s OWNER TO %[1]s, and ALTER TABLE … OWNER TO %[1]s for each table, or connect as their owner", role, db.space)
	}
	return found == db.layout(), nil
}

// layoutVersion changes when all cells have to be migrated again though their tables are the same.
const layoutVersion = 1

// system returns statements that create the driver's own tables.
func system() []string { return append(dialect().System(), makeCommit) }

// layout returns a hash of everything that migrate creates.
func (db *db) layout() string {
	h := sha256.New()
	write := func(texts ...string) {
		for _, text := range texts {
			fmt.Fprintf(h, "%d %s", len(text), text)
		}
	}
	write(system()...)
	for _, table := range dialect().Tables(db.Schema) {
		write(table.Create)
		write(slices.Sorted(maps.Keys(table.Columns))...)
		write(table.Indexes...)
	}
	return fmt.Sprintf("muster layout %d %x", layoutVersion, h.Sum(nil)[:8])
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
	}, system()...)
	begin = append(begin, db.Begin(), sqltext.AskLevel)
	results, err := wire.Exec(ctx, strings.Join(begin, ";\n")).ReadAll()
	if err != nil {
		return err
	}
	answer := results[len(results)-1].Rows[0]
	level, err := number(answer[0], nil)
	if err == nil {
		err = feature.Check(feature.Level(level), string(answer[1]))
	}
	if err != nil {
		return err
	}
	there, err := columnsThere(ctx, wire)
	if err != nil {
		return err
	}
	var texts []string
	for _, table := range dialect().Tables(db.Schema) {
		texts = append(texts, tableStatements(table, there)...)
	}
	return execAll(ctx, wire, append(texts, "COMMENT ON SCHEMA "+db.space+" IS "+sqltext.Literal(db.layout()), "COMMIT"))
}

// execAll runs statements without arguments, in one round trip.
func execAll(ctx context.Context, wire *pgconn.PgConn, texts []string) error {
	_, err := wire.Exec(ctx, strings.Join(texts, ";\n")).ReadAll()
	return err
}

// columnsThere reads which tables have which columns, as "table.column", and which tables
// there are, as "table.".
func columnsThere(ctx context.Context, wire *pgconn.PgConn) (map[string]bool, error) {
	results, err := wire.Exec(ctx, `SELECT c.relname, a.attname FROM pg_class AS c LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0
		WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND c.relkind IN ('r', 'p')`).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("list columns: %w", err)
	}
	there := map[string]bool{}
	for _, row := range results[0].Rows {
		there[string(row[0])+"."], there[string(row[0])+"."+string(row[1])] = true, true
	}
	return there, nil
}

// tableStatements returns the statements that create a table, or add what an older one lacks.
// A table that has all columns is not altered: that would wait for every reader, such as a
// backup.
func tableStatements(table sqltext.SQLTable, there map[string]bool) []string {
	texts := []string{table.Create}
	for name, kind := range table.Columns {
		if !there[table.Name+"."] || there[table.Name+"."+name] {
			continue
		}
		texts = append(texts, fmt.Sprintf("ALTER TABLE %s ADD COLUMN IF NOT EXISTS %s %s",
			sqltext.Quote(table.Name), sqltext.Quote(name), kind))
	}
	return append(texts, table.Indexes...)
}

// Grown compares the schema's columns with those that all rows had when the cell was
// last taken or settled.
func (db *db) Grown(ctx context.Context) (bool, error) {
	if db.settled == nil {
		settled, err := db.Settled(query(ctx, db.reader))
		if err != nil {
			return false, err
		}
		db.settled = &settled
	}
	return *db.settled != db.Schema.Signature(), nil
}

// Level returns the feature level. Once after Take, it is the one that Take has read.
func (db *db) Level(ctx context.Context) (feature.Level, error) {
	if level := db.level; level != 0 {
		db.level = 0
		return level, nil
	}
	return db.Cell.Level(query(ctx, db.reader))
}

// Raise raises the feature level. It need not be one transaction: the release is stored first.
func (db *db) Raise(ctx context.Context, level feature.Level) error {
	return db.Cell.Raise(db.exec(ctx), level)
}

func (db *db) Settle(ctx context.Context) error {
	db.settled = nil
	return db.Cell.Settle(db.exec(ctx))
}
