package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqltext"
)

// view runs f in one read transaction, which sees a single state whatever is
// committed in the meantime.
func (db *db) view(ctx context.Context, f func(*sql.Conn) error) error {
	conn, err := db.reader.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	err = f(conn)
	_, end := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	return errors.Join(err, end)
}

// each calls f for each row of a query.
func each(ctx context.Context, conn *sql.Conn, f func(*sql.Rows) error, text string, args ...any) error {
	rows, err := conn.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Load reads all live rows.
func (db *db) Load(ctx context.Context, row func(table int, key string, doc []byte) error) (store.State, error) {
	var state store.State
	err := db.view(ctx, func(conn *sql.Conn) (err error) {
		for i, t := range db.schema.Tables {
			if err := loadTable(ctx, conn, t.Name, func(key string, doc []byte) error { return row(i, key, doc) }); err != nil {
				return fmt.Errorf("read %s: %w", t.Name, err)
			}
		}
		state, err = db.state(ctx, conn)
		return err
	})
	return state, err
}

func loadTable(ctx context.Context, conn *sql.Conn, table string, row func(key string, doc []byte) error) error {
	return each(ctx, conn, func(rows *sql.Rows) error {
		var key, doc string
		if err := rows.Scan(&key, &doc); err != nil {
			return err
		}
		return row(sqltext.Unescape(key), []byte(doc))
	}, `SELECT "key", "doc" FROM `+sqltext.Quote(table))
}

// state reads the fence and the logs' last numbers; for a cell without an owner so
// far they are zero.
func (db *db) state(ctx context.Context, conn *sql.Conn) (store.State, error) {
	state := store.State{Last: make([]uint64, len(db.schema.Logs))}
	var now int64
	f := &state.Fence
	err := conn.QueryRowContext(ctx, `SELECT "owner", "epoch", "seq", "now" FROM "muster_cell" WHERE "name" = ?1`, db.cell).
		Scan(&f.Owner, &f.Epoch, &f.Seq, &now)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return state, fmt.Errorf("read fence: %w", err)
	}
	state.Now = sqltext.Moment(now)
	for i, l := range db.schema.Logs {
		err := conn.QueryRowContext(ctx, `SELECT "last" FROM "muster_log" WHERE "name" = ?1`, l.Name).Scan(&state.Last[i])
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return state, fmt.Errorf("read last number of %s: %w", l.Name, err)
		}
	}
	return state, nil
}

// ask runs a query, whose text recurs, on the reading connections. Each of them
// prepares it once.
func (db *db) ask(ctx context.Context, text string, args []any) (*sql.Rows, error) {
	known, ok := db.asked.Load(text)
	if !ok {
		stmt, err := db.reader.PrepareContext(ctx, text)
		if err != nil {
			return nil, err
		}
		if known, ok = db.asked.LoadOrStore(text, stmt); ok {
			stmt.Close()
		}
	}
	return known.(*sql.Stmt).QueryContext(ctx, args...)
}

// Archived reads archived documents.
func (db *db) Archived(ctx context.Context, table int, q store.Query) ([][]byte, error) {
	text, args := dialect().Archived(db.schema.Tables[table], q)
	rows, err := db.ask(ctx, text, args)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var docs [][]byte
	for rows.Next() {
		var doc string
		if err := rows.Scan(&doc); err != nil {
			return nil, err
		}
		docs = append(docs, []byte(doc))
	}
	return docs, rows.Err()
}

// Entries reads log entries.
func (db *db) Entries(ctx context.Context, log int, q store.LogQuery) ([]store.StoredEntry, error) {
	text, args := dialect().Entries(db.schema.Logs[log], q)
	rows, err := db.ask(ctx, text, args)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var entries []store.StoredEntry
	for rows.Next() {
		var e store.StoredEntry
		var ms int64
		if err := rows.Scan(&e.Seq, &ms, &e.Doc); err != nil {
			return nil, err
		}
		e.Time = sqltext.Moment(ms)
		entries = append(entries, e)
	}
	return entries, rows.Err()
}

// Prune removes expired rows, table by table, until limit is reached.
func (db *db) Prune(ctx context.Context, now time.Time, limit int) (int, error) {
	pruned := 0
	err := db.write(ctx, func() error {
		for _, t := range db.schema.Tables {
			if t.Retention <= 0 || pruned >= limit {
				continue
			}
			name := sqltext.Quote(sqltext.ArchiveOf(t.Name))
			n, err := db.remove(`DELETE FROM `+name+` WHERE rowid IN (SELECT rowid FROM `+name+` WHERE "expires_at" <= ?1 LIMIT ?2)`,
				sqltext.Millis(now), limit-pruned)
			if err != nil {
				return err
			}
			pruned += n
		}
		for _, l := range db.schema.Logs {
			if l.Retention <= 0 || pruned >= limit {
				continue
			}
			n, err := db.remove(`DELETE FROM `+sqltext.Quote(l.Name)+` WHERE "seq" IN (`+dialect().Expired(l)+`)`,
				sqltext.Millis(now.Add(-l.Retention)), limit-pruned)
			if err != nil {
				return err
			}
			pruned += n
		}
		return nil
	})
	return pruned, err
}

// SetBack sets the time of log entries later than now to now.
func (db *db) SetBack(ctx context.Context, now time.Time) error {
	return db.write(ctx, func() error {
		for _, l := range db.schema.Logs {
			if _, err := db.run(dialect().SetBack(l), sqltext.Millis(now)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (db *db) remove(text string, args ...any) (int, error) {
	result, err := db.run(text, args...)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}
