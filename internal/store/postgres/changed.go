package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqltext"
)

// The table muster_commit tells standbys which rows each of the last commits has written or removed,
// so that they need not read all. It has the keys only: a standby reads the documents where they are,
// so they are not written twice.
//
// What is stored of a commit is written out in one value, and up to 8 KB of it are stored as they
// are: by default PostgreSQL would compress what is longer than 2 KB, which takes longer than to
// write it.
const makeCommit = `CREATE TABLE IF NOT EXISTS "muster_commit" ("seq" bigint PRIMARY KEY, "before" bigint NOT NULL,
	"mark" bigint NOT NULL, "at" bigint NOT NULL, "keys" bytea NOT NULL) WITH (toast_tuple_target = 8160)`

// tellCommit is the part of a commit's first statement that records, as $8, what it changes.
const tellCommit = `,
		told AS (INSERT INTO "muster_commit" ("seq", "before", "mark", "at", "keys") SELECT $1, $6, $7, $2, $8 FROM moved)`

// changedFor is how long a standby may be away until it has to read everything again.
const changedFor = 2 * time.Minute

// newMark returns a random mark of a commit.
func newMark() int64 { return 1 + rand.Int64N(1<<62) }

// changedKeys returns the keys of the rows that a batch changes, for muster_commit.
func (db *db) changedKeys(b *store.Batch) []byte {
	out := writeKeys(len(b.Tables))
	for _, tb := range b.Tables {
		out.table(db.Schema.Tables[tb.Table].Name, len(tb.Deletes)+len(tb.Puts))
		for _, key := range tb.Deletes {
			out.key(sqltext.Escape(key))
		}
		for _, row := range tb.Puts {
			out.key(sqltext.Escape(row.Key))
		}
	}
	return out.out
}

// pruneCommits removes what no standby needs any more, the oldest first. The newest stays,
// since its mark tells whether commits were lost.
func (db *db) pruneCommits(ctx context.Context, now time.Time, limit int) (int, error) {
	n, err := db.exec(ctx)(`DELETE FROM "muster_commit" WHERE "seq" IN (SELECT "seq" FROM "muster_commit"
		WHERE "at" <= $1 AND "seq" < (SELECT max("seq") FROM "muster_commit") ORDER BY "seq" LIMIT $2)`, sqltext.Millis(now.Add(-changedFor)), limit)
	return int(n), err
}

// Changes reads what was changed after a state, in two round trips.
func (db *db) Changes(ctx context.Context, since store.State) (store.Changes, error) {
	conn, err := db.reader.Acquire(ctx)
	if err != nil {
		return store.Changes{}, fmt.Errorf("%w: %w", store.ErrTransient, err)
	}
	defer conn.Release()
	c := &changes{db: db, conn: conn, since: since, keys: make([][]string, len(db.Schema.Tables)), seen: map[rowName]bool{}}
	if err := c.read(ctx); err != nil {
		lost := conn.Conn().IsClosed()
		if !lost {
			conn.Conn().Close(context.WithoutCancel(ctx)) // it may be inside the transaction
		}
		if lost && !errors.Is(err, store.ErrGap) {
			err = fmt.Errorf("%w: %w", store.ErrTransient, err)
		}
		return store.Changes{}, err
	}
	return c.found, nil
}

// changes is the state of one Changes.
type changes struct {
	db    *db
	conn  *pgxpool.Conn
	since store.State
	found store.Changes

	last  uint64     // the sequence up to which all commits were seen
	begun bool       // a commit was seen
	keys  [][]string // of changed rows, by table
	seen  map[rowName]bool
}

type rowName struct {
	table int
	key   string
}

func (c *changes) read(ctx context.Context) error {
	if err := c.readCommits(ctx); err != nil {
		return err
	}
	return c.readRows(ctx)
}

// readCommits begins the transaction, and reads the newer state and the keys of the rows that
// differ.
func (c *changes) readCommits(ctx context.Context) error {
	batch := &pgconn.Batch{}
	batch.ExecParams("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", nil, nil, nil, nil)
	c.db.askState(batch)
	batch.ExecParams(`SELECT "seq", "before", "mark", "keys" FROM "muster_commit" WHERE "seq" >= $1 ORDER BY "seq"`,
		[][]byte{fmt.Append(nil, c.since.Fence.Seq)}, []uint32{pgtype.Int8OID}, nil, []int16{pgtype.BinaryFormatCode})
	results := c.conn.Conn().PgConn().ExecBatch(ctx, batch)
	defer results.Close()
	if err := each(results, nil); err != nil { // BEGIN
		return err
	}
	var err error
	if c.found.State, err = c.db.readState(results); err != nil {
		return err
	}
	c.last = c.since.Fence.Seq
	if err := each(results, c.takeCommit); err != nil {
		return err
	}
	if c.last != c.found.State.Fence.Seq {
		return fmt.Errorf("%w: they end at %d of %d", store.ErrGap, c.last, c.found.State.Fence.Seq)
	}
	return results.Close()
}

// takeCommit takes the keys of a commit, if it follows the last one.
func (c *changes) takeCommit(values [][]byte) error {
	var seq, before, mark int64
	var keys []byte
	types := c.conn.Conn().TypeMap()
	for i, to := range []any{&seq, &before, &mark, &keys} {
		oid := []uint32{pgtype.Int8OID, pgtype.Int8OID, pgtype.Int8OID, pgtype.ByteaOID}[i]
		if err := types.Scan(oid, pgtype.BinaryFormatCode, values[i], to); err != nil {
			return fmt.Errorf("read a commit's changes: %w", err)
		}
	}
	if uint64(seq) == c.since.Fence.Seq {
		if c.since.Mark != 0 && uint64(mark) != c.since.Mark {
			return fmt.Errorf("%w: the database lost commits", store.ErrGap)
		}
		c.begun = true
		return nil
	}
	if !c.begun && c.since.Mark != 0 || uint64(before) != c.last {
		return fmt.Errorf("%w: %d follows %d", store.ErrGap, seq, before)
	}
	c.begun, c.last = true, uint64(seq)
	return c.takeKeys(keys)
}

// takeKeys notes the keys of changed rows. Tables that this release does not have are left
// out, as a Load leaves them. Keys that cannot be read are a gap: a standby that reads everything
// does not need them.
func (c *changes) takeKeys(written []byte) error {
	err := readKeys(written, func(name string, keys []string) {
		if table := c.db.tableNamed(name); table >= 0 {
			c.note(table, keys)
		}
	})
	if err != nil {
		return fmt.Errorf("%w: commit %d: %w", store.ErrGap, c.last, err)
	}
	return nil
}

func (c *changes) note(table int, keys []string) {
	for _, key := range keys {
		if name := (rowName{table, key}); !c.seen[name] {
			c.seen[name] = true
			c.keys[table] = append(c.keys[table], key)
		}
	}
}

// tableNamed returns the number of a table, or -1.
func (db *db) tableNamed(name string) int {
	for i, t := range db.Schema.Tables {
		if t.Name == name {
			return i
		}
	}
	return -1
}

// readRows reads the rows that have changed, and ends the transaction.
func (c *changes) readRows(ctx context.Context) error {
	batch := &pgconn.Batch{}
	for table, keys := range c.keys {
		if len(keys) == 0 {
			continue
		}
		list, err := c.conn.Conn().TypeMap().Encode(pgtype.TextArrayOID, pgtype.BinaryFormatCode, keys, nil)
		if err != nil {
			return err
		}
		batch.ExecParams(`SELECT "key", "doc" FROM `+sqltext.Quote(c.db.Schema.Tables[table].Name)+` WHERE "key" = ANY($1)`,
			[][]byte{list}, []uint32{pgtype.TextArrayOID}, []int16{pgtype.BinaryFormatCode}, nil)
	}
	batch.ExecParams("COMMIT", nil, nil, nil, nil)
	results := c.conn.Conn().PgConn().ExecBatch(ctx, batch)
	defer results.Close()
	for table, keys := range c.keys {
		if len(keys) == 0 {
			continue
		}
		if err := c.takeRows(results, table); err != nil {
			return fmt.Errorf("read %s: %w", c.db.Schema.Tables[table].Name, err)
		}
	}
	return results.Close()
}

// takeRows takes the rows of a table that there are, and then those that are gone.
func (c *changes) takeRows(results *pgconn.MultiResultReader, table int) error {
	docs := make(map[string][]byte, len(c.keys[table]))
	err := each(results, func(values [][]byte) error {
		docs[string(values[0])] = append([]byte(nil), values[1]...)
		return nil
	})
	for _, key := range c.keys[table] {
		c.found.Rows = append(c.found.Rows, store.ChangedRow{Table: table, Key: sqltext.Unescape(key), Doc: docs[key]})
	}
	return err
}
