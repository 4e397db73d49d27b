package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqltext"
)

// view runs f in one read transaction, which sees a single state whatever is
// committed in the meantime.
func (db *db) view(ctx context.Context, f func(*sql.Conn) error) error {
	end, err := db.read(ctx)
	if err != nil {
		return err
	}
	defer end()
	conn, err := db.reader.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	err = f(conn)
	_, rollback := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	return errors.Join(err, rollback)
}

// read waits until a reading connection is free or ctx ends. The caller must call end when
// it has returned the connection.
func (db *db) read(ctx context.Context) (end func(), err error) {
	select {
	case db.reads <- struct{}{}:
		return func() { <-db.reads }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// query returns a function that runs queries on a connection.
func query(ctx context.Context, conn *sql.Conn) sqltext.Query {
	return func(row func(sqltext.Row) error, text string, args ...any) error {
		rows, err := conn.QueryContext(ctx, text, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		return sqltext.Rows(rows, row)
	}
}

func (db *db) Load(ctx context.Context, row func(table int, key string, doc []byte) error) (state store.State, err error) {
	err = db.view(ctx, func(conn *sql.Conn) error {
		query := query(ctx, conn)
		for i, t := range db.Schema.Tables {
			var key, doc string
			into := []any{&key, &doc}
			err := query(func(found sqltext.Row) error {
				if err := found.Scan(into...); err != nil {
					return err
				}
				return row(i, sqltext.Unescape(key), []byte(doc))
			}, `SELECT "key", "doc" FROM `+sqltext.Quote(t.Name))
			if err != nil {
				return fmt.Errorf("read %s: %w", t.Name, err)
			}
		}
		state, err = db.State(query)
		return err
	})
	return state, err
}

// ask runs queries, whose texts recur, on the reading connections. Each of them prepares a
// text once.
func (db *db) ask(ctx context.Context) sqltext.Query {
	return func(row func(sqltext.Row) error, text string, args ...any) error {
		known, ok := db.asked.Load(text)
		if !ok {
			stmt, err := db.reader.PrepareContext(ctx, text)
			if err != nil {
				return err
			}
			if known, ok = db.asked.LoadOrStore(text, stmt); ok {
				stmt.Close()
			}
		}
		rows, err := known.(*sql.Stmt).QueryContext(ctx, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		return sqltext.Rows(rows, row)
	}
}

// Archived does not watch ctx while it looks rows up by their keys: that would cost more
// than the query. It waits for a connection only as long as ctx lasts.
func (db *db) Archived(ctx context.Context, table int, q store.Query) ([][]byte, error) {
	end, err := db.read(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	if len(q.Keys) > 0 || slices.ContainsFunc(q.Where, func(eq store.Eq) bool { return eq.Column == "key" }) {
		ctx = context.WithoutCancel(ctx)
	}
	return db.Cell.Archived(db.ask(ctx), table, q)
}

func (db *db) ArchivedKeys(ctx context.Context, table int, after string, limit int) ([]string, error) {
	end, err := db.read(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	return db.Cell.ArchivedKeys(db.ask(ctx), table, after, limit)
}

func (db *db) Entries(ctx context.Context, log int, q store.LogQuery) ([]store.StoredEntry, error) {
	end, err := db.read(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	return db.Cell.Entries(db.ask(ctx), log, q)
}

func (db *db) Prune(ctx context.Context, p store.Pruning) (pruned int, err error) {
	err = db.write(ctx, func() error {
		pruned, err = db.Cell.Prune(db.run, p)
		return err
	})
	return pruned, err
}

func (db *db) SetBack(ctx context.Context, now time.Time) error {
	return db.write(ctx, func() error { return db.Cell.SetBack(db.run, now) })
}
