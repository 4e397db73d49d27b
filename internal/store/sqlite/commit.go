package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqltext"
)

// write runs f in one immediate transaction on the writer's connection. An error
// before COMMIT leaves nothing behind.
func (db *db) write(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", store.ErrTransient, err)
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if err := db.exec("BEGIN IMMEDIATE"); err != nil {
		return db.explain(err)
	}
	if err := f(); err != nil {
		if undo := db.exec("ROLLBACK"); undo != nil {
			return errors.Join(db.explain(err), undo)
		}
		return db.explain(err)
	}
	if err := db.exec("COMMIT"); err != nil {
		return errors.Join(db.explain(err), db.exec("ROLLBACK"))
	}
	db.checkpoints.committed()
	return nil
}

// exec runs a statement that is prepared once. It takes no context: within a
// transaction SQLite waits only for the disk.
func (db *db) exec(text string, args ...any) error {
	_, err := db.run(text, args...)
	return err
}

// run is exec, and returns how many rows were changed. It uses the driver's statements:
// those of database/sql copy the arguments.
func (db *db) run(text string, args ...any) (changed int64, err error) {
	db.args = db.args[:0]
	for i, arg := range args {
		value, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			return 0, err
		}
		db.args = append(db.args, driver.NamedValue{Ordinal: i + 1, Value: value})
	}
	defer clear(db.args)
	err = db.conn.Raw(func(conn any) error {
		stmt, err := db.prepare(conn, text)
		if err != nil {
			return err
		}
		result, err := stmt.ExecContext(context.Background(), db.args)
		if err != nil {
			return err
		}
		changed, err = result.RowsAffected()
		return err
	})
	return changed, err
}

// statement is a prepared statement of the driver.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
}

// prepare returns a statement, prepared once, of the writer's connection.
func (db *db) prepare(conn any, text string) (statement, error) {
	if stmt := db.stmt[text]; stmt != nil {
		return stmt, nil
	}
	prepared, err := conn.(driver.Conn).Prepare(text)
	if err != nil {
		return nil, err
	}
	stmt := prepared.(statement)
	db.stmt[text] = stmt
	return stmt, nil
}

func (db *db) Take(ctx context.Context, owner string) (store.Fence, error) {
	fence := store.Fence{Owner: owner}
	err := db.write(ctx, func() error {
		row := db.conn.QueryRowContext(ctx, `INSERT INTO "muster_cell" ("name", "owner", "epoch", "seq", "now") VALUES (?1, ?2, 1, 0, 0)
			ON CONFLICT ("name") DO UPDATE SET "owner" = excluded."owner", "epoch" = "epoch" + 1 RETURNING "epoch", "seq"`, db.Name, owner)
		return row.Scan(&fence.Epoch, &fence.Seq)
	})
	return fence, err
}

func (db *db) Renew(ctx context.Context, owner string) (fence store.Fence, err error) {
	err = db.write(ctx, func() error {
		fence, err = db.Cell.Renew(query(ctx, db.conn), owner)
		return err
	})
	return fence, err
}

// Commit writes the batch if its fence is current.
func (db *db) Commit(ctx context.Context, b *store.Batch) error {
	return db.write(ctx, func() error {
		if err := db.advance(b); err != nil {
			return err
		}
		for _, tb := range b.Tables {
			if err := db.writeTable(tb, b.Seq); err != nil {
				return fmt.Errorf("write %s: %w", db.Schema.Tables[tb.Table].Name, err)
			}
		}
		for _, lb := range b.Logs {
			if err := db.writeLog(lb); err != nil {
				return fmt.Errorf("write %s: %w", db.Schema.Logs[lb.Log].Name, err)
			}
		}
		return nil
	})
}

func (db *db) advance(b *store.Batch) error {
	n, err := db.run(`UPDATE "muster_cell" SET "seq" = ?1, "now" = ?2 WHERE "name" = ?3 AND "owner" = ?4 AND "epoch" = ?5 AND "seq" = ?6`,
		int64(b.Seq), sqltext.Millis(b.Now), db.Name, b.Fence.Owner, int64(b.Fence.Epoch), int64(b.Fence.Seq))
	if err == nil && n != 1 {
		err = store.ErrFenced
	}
	return err
}

func (db *db) writeTable(tb store.TableBatch, seq uint64) error {
	t := db.Schema.Tables[tb.Table]
	for _, key := range tb.Deletes {
		if err := db.remove(t.Name, key); err != nil {
			return err
		}
	}
	if err := db.put(t, tb.Puts, seq); err != nil {
		return err
	}
	return db.archive(t, tb.Archives)
}

// remove removes the row with a key from a table.
func (db *db) remove(table, key string) error {
	return db.exec(`DELETE FROM `+sqltext.Quote(table)+` WHERE "key" = ?1`, sqltext.Escape(key))
}

// archive writes archived rows.
func (db *db) archive(t store.TableSchema, rows []store.StoredRow) error {
	ended := insert{table: sqltext.ArchiveOf(t.Name), fixed: []string{"key", "doc", "archived_at"}, columns: t.Columns, upsert: len(t.Columns) + 2}
	return db.insert(ended, len(rows), func(i int, args []any) []any {
		row := rows[i]
		args = append(args, sqltext.Escape(row.Key), sqltext.Pack(row.Key, row.Doc), sqltext.Millis(row.Time))
		return sqltext.AppendColumns(args, sqltext.Brief(row.Columns, t.Columns), false)
	})
}

// put writes live rows. For new ones SQLite need not look whether they replace others.
// If a row's columns stay the same, they are not written, and so the unique indexes are
// not touched.
func (db *db) put(t store.TableSchema, puts []store.StoredRow, seq uint64) error {
	live := insert{table: t.Name, fixed: []string{"key", "doc", "seq"}, columns: t.Columns}
	stored := any(int64(seq))
	for _, replaced := range slices.Compact([]int{0, 2, 2 + len(t.Columns)}) {
		live.upsert = replaced
		db.picked = db.picked[:0]
		for i := range puts {
			if replacedBy(t, &puts[i]) == replaced {
				db.picked = append(db.picked, i)
			}
		}
		err := db.insert(live, len(db.picked), func(i int, args []any) []any {
			row := &puts[db.picked[i]]
			args = append(args, sqltext.Escape(row.Key), sqltext.Doc(row.Doc), stored)
			return sqltext.AppendColumns(args, row.Columns, true)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// replacedBy returns how many values of a stored row are replaced by those of a put.
func replacedBy(t store.TableSchema, row *store.StoredRow) int {
	switch {
	case row.New:
		return 0
	case row.Same:
		return 2
	default:
		return 2 + len(t.Columns)
	}
}

func (db *db) writeLog(lb store.LogBatch) error {
	l := db.Schema.Logs[lb.Log]
	into := insert{table: l.Name, fixed: []string{"seq", "time", "doc"}, columns: l.Columns}
	err := db.insert(into, len(lb.Entries), func(i int, args []any) []any {
		e := lb.Entries[i]
		return sqltext.AppendColumns(append(args, int64(e.Seq), sqltext.Millis(e.Time), sqltext.Pack("", e.Doc)), sqltext.Brief(e.Columns, l.Columns), false)
	})
	if err != nil {
		return err
	}
	return db.exec(sqltext.SetLast, l.Name, int64(lb.Last()))
}

// insert describes a multi-row INSERT.
type insert struct {
	table   string
	fixed   []string
	columns []store.ColumnSchema
	upsert  int // how many values after the key replace those of an existing row; 0 replaces no row
}

// chunks are the row counts of statements: few, so that all stay prepared.
var chunks = [...]int{64, 32, 16, 8, 4, 2, 1}

// insert writes n rows; row appends the values of the i-th.
func (db *db) insert(into insert, n int, row func(i int, args []any) []any) error {
	args := db.values
	defer func() { clear(args[:cap(args)]); db.values = args[:0] }()
	for done := 0; done < n; {
		size := 1
		for _, c := range chunks {
			if c <= n-done {
				size = c
				break
			}
		}
		args = args[:0]
		for i := range size {
			args = row(done+i, args)
		}
		if err := db.exec(db.insertText(into, size), args...); err != nil {
			return err
		}
		done += size
	}
	return nil
}

// shape is what the text of an insert depends on.
type shape struct {
	table        string
	rows, upsert int
}

// insertText returns the statement of an insert; each is built once.
func (db *db) insertText(in insert, rows int) string {
	s := shape{in.table, rows, in.upsert}
	text := db.inserts[s]
	if text == "" {
		text = in.text(rows)
		db.inserts[s] = text
	}
	return text
}

func (in insert) text(rows int) string {
	names := in.fixed
	for _, c := range in.columns {
		names = append(names[:len(names):len(names)], c.Name)
	}
	one := "(" + strings.TrimSuffix(strings.Repeat("?, ", len(names)), ", ") + ")"
	var b strings.Builder
	verb := "INSERT"
	if in.upsert == 0 {
		verb = "INSERT OR FAIL" // a failure ends the transaction anyway; with plain INSERT SQLite copies each page
	}
	fmt.Fprintf(&b, `%s INTO %s ("%s") VALUES %s`, verb, sqltext.Quote(in.table), strings.Join(names, `", "`), one)
	b.WriteString(strings.Repeat(", "+one, rows-1))
	if in.upsert > 0 {
		b.WriteString(` ON CONFLICT ("key") DO UPDATE SET `)
		for i, name := range names[1 : 1+in.upsert] {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, `"%s" = excluded."%s"`, name, name)
		}
	}
	return b.String()
}
