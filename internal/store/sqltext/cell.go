package sqltext

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/feature"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/pack"
)

// Exec runs a statement and returns how many rows it changed.
type Exec func(text string, args ...any) (int64, error)

// Query runs a query and calls row for each row.
type Query func(row func(Row) error, text string, args ...any) error

// Row is a row of a query, as database/sql and pgx have it.
type Row interface{ Scan(into ...any) error }

// Rows calls row for each of rows. The caller closes rows.
func Rows(rows interface {
	Row
	Next() bool
	Err() error
}, row func(Row) error) error {
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Cell is one cell of a database. Its methods are those of a store.DB whose statements
// are the same in both engines.
type Cell struct {
	Name    string
	Schema  store.Schema
	Dialect Dialect
}

// Begin returns the statement that stores the feature level of a new database and the
// signature of its columns, as Settle does: a new database has no rows that could lack
// columns.
func (c Cell) Begin() string {
	return fmt.Sprintf(`INSERT INTO "muster_schema" SELECT %d, %s WHERE NOT EXISTS (SELECT 1 FROM "muster_schema")`,
		feature.First, Literal(c.Schema.Signature()))
}

// AskLevel is the query for a cell's feature level and the first release that knows it.
const AskLevel = `SELECT "version", coalesce((SELECT "release" FROM "muster_release" WHERE "level" = "version"), '') FROM "muster_schema"`

// Level returns the cell's feature level; the error is a *feature.Newer if this program does
// not know it.
func (c Cell) Level(query Query) (level feature.Level, err error) {
	var release string
	err = query(func(row Row) error { return row.Scan(&level, &release) }, AskLevel)
	if err == nil {
		err = feature.Check(level, release)
	}
	return level, err
}

// Raise raises the cell's feature level, which never becomes lower.
func (c Cell) Raise(exec Exec, level feature.Level) error {
	if _, err := exec(`INSERT INTO "muster_release" ("level", "release") VALUES ($1, $2) ON CONFLICT ("level") DO NOTHING`, int64(level), level.Release()); err != nil {
		return err
	}
	_, err := exec(`UPDATE "muster_schema" SET "version" = $1 WHERE "version" < $1`, int64(level))
	return err
}

// Renew moves the owner's fence to the next epoch.
func (c Cell) Renew(query Query, owner string) (store.Fence, error) {
	fence := store.Fence{}
	err := query(func(row Row) error {
		fence.Owner = owner
		return row.Scan(&fence.Epoch, &fence.Seq)
	}, `UPDATE "muster_cell" SET "epoch" = "epoch" + 1 WHERE "name" = $1 AND "owner" = $2 RETURNING "epoch", "seq"`, c.Name, owner)
	if err == nil && fence.Owner == "" {
		err = store.ErrFenced
	}
	return fence, err
}

// State reads the fence and the logs' last numbers; for a cell without an owner so far
// they are zero.
func (c Cell) State(query Query) (store.State, error) {
	state := store.State{Last: make([]uint64, len(c.Schema.Logs))}
	f := &state.Fence
	err := query(func(row Row) error {
		var now int64
		err := row.Scan(&f.Owner, &f.Epoch, &f.Seq, &now)
		state.Now = Moment(now)
		return err
	}, `SELECT "owner", "epoch", "seq", "now" FROM "muster_cell" WHERE "name" = $1`, c.Name)
	if err != nil {
		return state, fmt.Errorf("read fence: %w", err)
	}
	for i, l := range c.Schema.Logs {
		last := func(row Row) error { return row.Scan(&state.Last[i]) }
		if err := query(last, `SELECT "last" FROM "muster_log" WHERE "name" = $1`, l.Name); err != nil {
			return state, fmt.Errorf("read last number of %s: %w", l.Name, err)
		}
	}
	return state, nil
}

// Archived reads archived documents.
func (c Cell) Archived(query Query, table int, q store.Query) (docs [][]byte, err error) {
	text, args := c.archived(table, q)
	err = query(func(row Row) error {
		var key string
		var stored []byte
		if err := row.Scan(&key, &stored); err != nil {
			return err
		}
		doc, err := pack.Unpack(stored, Unescape(key))
		docs = append(docs, doc)
		return err
	}, text, args...)
	return docs, err
}

// ArchivedKeys reads keys of archived rows, ascending.
func (c Cell) ArchivedKeys(query Query, table int, after string, limit int) (keys []string, err error) {
	text, args := c.archivedKeys(table, after, limit)
	var key string
	err = query(func(row Row) error {
		err := row.Scan(&key)
		keys = append(keys, Unescape(key))
		return err
	}, text, args...)
	return keys, err
}

// Entries reads log entries.
func (c Cell) Entries(query Query, log int, q store.LogQuery) (found []store.StoredEntry, err error) {
	text, args := c.entries(log, q)
	var seq uint64
	var ms int64
	err = query(func(row Row) error {
		var stored []byte
		if err := row.Scan(&seq, &ms, &stored); err != nil {
			return err
		}
		doc, err := pack.Unpack(stored, "")
		found = append(found, store.StoredEntry{Seq: seq, Time: Moment(ms), Doc: doc})
		return err
	}, text, args...)
	return found, err
}

// Prune removes expired rows, table by table, until as many as p says are removed. Of a log,
// it looks only at the oldest entries. It is for tables without partitions.
func (c Cell) Prune(exec Exec, p store.Pruning) (pruned int, err error) {
	for _, from := range c.parts() {
		var before time.Time
		switch from.place {
		case store.Archive:
			before = p.Now.Add(-from.retention)
		case store.LogPart:
			before = p.Before[from.number]
		}
		if before.IsZero() || pruned >= p.Rows {
			continue
		}
		n, err := exec(from.prune(), Millis(before), p.Rows-pruned)
		if err != nil {
			return pruned, fmt.Errorf("%s: %w", from.name, err)
		}
		pruned += int(n)
	}
	return pruned, nil
}

// prune returns the statement that removes at most $2 rows of the time $1 or before.
func (p part) prune() string {
	if p.place == store.LogPart {
		return fmt.Sprintf(`DELETE FROM %[1]s WHERE "seq" IN
			(SELECT "seq" FROM (SELECT "seq", "time" FROM %[1]s ORDER BY "seq" LIMIT $2) AS oldest WHERE "time" <= $1)`, Quote(p.name))
	}
	return fmt.Sprintf(`DELETE FROM %[1]s WHERE "key" IN (SELECT "key" FROM %[1]s WHERE "archived_at" <= $1 LIMIT $2)`, Quote(p.name))
}

// SetBack sets the time of log entries later than now to now. It visits all entries: with
// wrong clocks, times need not increase with numbers.
func (c Cell) SetBack(exec Exec, now time.Time) error {
	for _, p := range c.parts() {
		if p.place != store.LogPart {
			continue
		}
		if _, err := exec(`UPDATE `+Quote(p.name)+` SET "time" = $1 WHERE "time" > $1`, Millis(now)); err != nil {
			return err
		}
	}
	return nil
}

// SetColumns stores the columns of rows and entries.
func (c Cell) SetColumns(exec Exec, items []store.Item) error {
	parts := c.parts()
	for _, it := range items {
		p, err := partOf(parts, it)
		if err == nil {
			_, err = exec(p.setColumns(), p.columnValues(it)...)
		}
		if err != nil {
			return fmt.Errorf("%s %q: %w", p.name, it.Key, err)
		}
	}
	return nil
}

// Settle stores the signature of the schema, because all rows now have its columns.
func (c Cell) Settle(exec Exec) error {
	_, err := exec(`UPDATE "muster_schema" SET "columns" = $1`, c.Schema.Signature())
	return err
}

// Settled returns the signature of the schema whose columns all rows have.
func (c Cell) Settled(query Query) (columns string, err error) {
	err = query(func(row Row) error { return row.Scan(&columns) }, `SELECT "columns" FROM "muster_schema"`)
	return columns, err
}

// Dump reads everything stored for the schema.
func (c Cell) Dump(query Query, item func(store.Item) error) (store.State, error) {
	for _, p := range c.parts() {
		err := query(func(row Row) error {
			it, err := p.scan(row)
			if err != nil {
				return err
			}
			return item(it)
		}, p.selection())
		if err != nil {
			return store.State{}, fmt.Errorf("read %s: %w", p.name, err)
		}
	}
	level, err := c.Level(query)
	if err != nil {
		return store.State{}, err
	}
	state, err := c.State(query)
	state.Level = level
	return state, err
}

// Fill stores a dump in a cell, or returns ErrNotEmpty if anything is stored already. before
// is called before an item is stored in an archive or a log, which has a retention.
func (c Cell) Fill(query Query, exec Exec, before func(table string, retention time.Duration, at time.Time) error, items func(add func(store.Item) error) (store.State, error)) error {
	parts := c.parts()
	for _, p := range parts {
		full := func(Row) error { return fmt.Errorf("%w: table %s has rows", store.ErrNotEmpty, p.name) }
		if err := query(full, p.first()); err != nil {
			return err
		}
	}
	state, err := items(func(it store.Item) error {
		p, err := partOf(parts, it)
		if err == nil && p.packed() {
			err = before(p.name, p.retention, it.Time)
		}
		if err == nil {
			_, err = exec(p.insert(), p.values(it)...)
		}
		return err
	})
	if err != nil {
		return err
	}
	if state.Level > feature.First {
		if err := c.Raise(exec, state.Level); err != nil {
			return err
		}
	}
	return c.setState(exec, state)
}

func (c Cell) setState(exec Exec, state store.State) error {
	f := state.Fence
	if _, err := exec(`DELETE FROM "muster_cell" WHERE "name" = $1`, c.Name); err != nil {
		return err
	}
	_, err := exec(`INSERT INTO "muster_cell" ("name", "owner", "epoch", "seq", "now") VALUES ($1, $2, $3, $4, $5)`,
		c.Name, f.Owner, int64(f.Epoch), int64(f.Seq), Millis(state.Now))
	for i, l := range c.Schema.Logs {
		if err == nil {
			_, err = exec(SetLast, l.Name, int64(state.Last[i]))
		}
	}
	return err
}

// SetLast stores the last number of a log.
const SetLast = `INSERT INTO "muster_log" ("name", "last") VALUES ($1, $2) ON CONFLICT ("name") DO UPDATE SET "last" = excluded."last"`
