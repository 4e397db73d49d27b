package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/musterhq/muster/internal/feature"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/postgres"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
)

// history is a cell with an archive and a log, at one time.
type history struct {
	t     *testing.T
	cell  string
	conn  *pgx.Conn
	db    store.DB
	fence store.Fence
	level feature.Level
	now   time.Time
	seq   uint64 // of the log
	rows  int
}

const kept = 30 * 24 * time.Hour

func newHistory(t *testing.T) *history {
	url := pgtest.URL(t)
	h := &history{t: t, cell: pgtest.Cell(t, url), level: feature.First, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	db, err := postgres.New(url).Open(t.Context(), h.cell, store.Schema{
		Tables: []store.TableSchema{{Name: "thing", Retention: kept, Again: true, Columns: []store.ColumnSchema{{Name: "kind"}}}},
		Logs:   []store.LogSchema{{Name: "note", Retention: kept, Columns: []store.ColumnSchema{{Name: "topic", Digest: true}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	h.db = db
	if h.fence, err = db.Take(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if h.conn, err = pgx.Connect(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.conn.Close(t.Context()) })
	return h
}

type partitioner interface {
	Partition(ctx context.Context, p store.Pruning) error
}

// write archives a row and appends an entry.
func (h *history) write() {
	h.t.Helper()
	h.rows++
	h.archive(fmt.Sprint("k", h.rows), h.rows)
}

func (h *history) archive(key string, n int) {
	h.t.Helper()
	h.seq++
	doc := fmt.Appendf(nil, `{"id":%q,"n":%d}`, key, n)
	batch := &store.Batch{Fence: h.fence, Seq: h.fence.Seq + 1, Now: h.now, Level: h.level,
		Tables: []store.TableBatch{{Archives: []store.StoredRow{{Key: key, Doc: doc, Columns: []string{"x"}, Time: h.now}}}},
		Logs:   []store.LogBatch{{Entries: []store.StoredEntry{{Seq: h.seq, Time: h.now, Doc: doc, Columns: []string{"y"}}}}}}
	if err := h.db.Commit(h.t.Context(), batch); err != nil {
		h.t.Fatal(err)
	}
	h.fence.Seq++
}

func (h *history) raise() {
	h.t.Helper()
	h.level = feature.Packed
	if err := h.db.Raise(h.t.Context(), h.level); err != nil {
		h.t.Fatal(err)
	}
}

// pass lets time pass, and keeps what is to be kept then. Nothing is kept longer than hold
// says; zero says the retention.
func (h *history) pass(d time.Duration, hold time.Duration) {
	h.t.Helper()
	h.now = h.now.Add(d)
	p := store.Pruning{Now: h.now, Before: []time.Time{h.now.Add(-max(kept, hold))}, Rows: 500}
	if h.level >= feature.Packed {
		if err := h.db.(partitioner).Partition(h.t.Context(), p); err != nil {
			h.t.Fatal(err)
		}
	}
	if _, err := h.db.Prune(h.t.Context(), p); err != nil {
		h.t.Fatal(err)
	}
}

// want compares how many rows and entries there are.
func (h *history) want(rows, entries int) {
	h.t.Helper()
	found, err := h.db.Archived(h.t.Context(), 0, store.Query{Where: []store.Eq{{Column: "kind", Value: "x"}}, OrderBy: "key", Limit: 1000})
	if err != nil || len(found) != rows {
		h.t.Errorf("%d archived rows, %v; want %d", len(found), err, rows)
	}
	notes, err := h.db.Entries(h.t.Context(), 0, store.LogQuery{Where: []store.Eq{{Column: "topic", Value: "y"}}, Limit: 1000})
	if err != nil || len(notes) != entries {
		h.t.Errorf("%d entries, %v; want %d", len(notes), err, entries)
	}
	for i := 1; i < len(notes); i++ {
		if notes[i].Seq <= notes[i-1].Seq {
			h.t.Errorf("entry %d comes after %d", notes[i].Seq, notes[i-1].Seq)
		}
	}
}

// tables counts the tables of the cell that begin with a name.
func (h *history) tables(name string) (n int) {
	h.t.Helper()
	err := h.conn.QueryRow(h.t.Context(), `SELECT count(*) FROM pg_tables WHERE schemaname = $1 AND starts_with(tablename, $2)`, "muster_"+h.cell, name).Scan(&n)
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}

// deleted returns how many rows were deleted one by one.
func (h *history) deleted() (n int) {
	h.t.Helper()
	if _, err := h.conn.Exec(h.t.Context(), `SELECT pg_stat_clear_snapshot()`); err != nil {
		h.t.Fatal(err)
	}
	err := h.conn.QueryRow(h.t.Context(), `SELECT coalesce(sum(n_tup_del), 0) FROM pg_stat_user_tables WHERE schemaname = $1 AND relname NOT LIKE 'muster%'`, "muster_"+h.cell).Scan(&n)
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}

// What has expired is dropped with its partition, row by row only what came before there
// were any.
func TestPartition_Days(t *testing.T) {
	h := newHistory(t)
	h.raise()
	h.pass(0, 0)
	for day := range 33 {
		h.write()
		h.pass(24*time.Hour, 0)
		want := min(day+1, 30) // a partition goes when its newest row has expired
		h.want(want, want)
	}
	if n := h.tables("note"); n > 31+ahead+3 {
		t.Errorf("%d tables for 30 days", n)
	}
	if n := h.deleted(); n != 0 {
		t.Errorf("%d rows were deleted one by one", n)
	}
}

// ahead is how many partitions exist before they are needed.
const ahead = 3

// A database from before there were partitions gets them beside commits, keeps its rows, and
// loses them as they expire.
func TestPartition_Grown(t *testing.T) {
	h := newHistory(t)
	for range 10 {
		h.write()
		h.pass(24*time.Hour, 0)
	}
	h.want(10, 10)
	h.raise()
	h.write() // not partitioned yet
	h.pass(time.Minute, 0)
	if h.tables("thing_archive_before") != 1 {
		t.Fatal("the archive is not partitioned")
	}
	for range 10 {
		h.write()
		h.pass(24*time.Hour, 0)
	}
	h.want(21, 21)
	h.pass(15*24*time.Hour, 0) // the first six have expired: deleted, since they share their partition with later ones
	h.want(15, 15)
	h.pass(25*24*time.Hour, 0)
	if h.tables("thing_archive_before")+h.tables("note_before") != 0 {
		t.Error("what was stored before is still there")
	}
	h.want(0, 0)
}

// A row whose time no partition has is stored all the same, and expires.
func TestPartition_OddTimes(t *testing.T) {
	h := newHistory(t)
	h.raise()
	h.pass(0, 0)
	h.now = h.now.Add(20 * 24 * time.Hour)
	h.write()
	h.want(1, 1)
	h.pass(0, 0) // partitions for other times come beside it
	h.write()
	h.want(2, 2)
	h.pass(kept+2*24*time.Hour, 0)
	h.want(0, 0)
}

// A key that is archived again replaces the row from before, in whichever partition.
func TestPartition_Again(t *testing.T) {
	h := newHistory(t)
	h.raise()
	h.pass(0, 0)
	h.archive("k", 1)
	h.pass(3*24*time.Hour, 0)
	h.archive("k", 2)
	found, err := h.db.Archived(t.Context(), 0, store.Query{Where: []store.Eq{{Column: "key", Value: "k"}}, OrderBy: "key", Limit: 9})
	if err != nil || len(found) != 1 || string(found[0]) != `{"id":"k","n":2}` {
		t.Errorf("%s, %v", found, err)
	}
}

// Entries that something still needs are not dropped.
func TestPartition_Held(t *testing.T) {
	h := newHistory(t)
	h.raise()
	h.pass(0, 0)
	h.write()
	h.pass(kept+3*24*time.Hour, kept+7*24*time.Hour)
	h.want(0, 1)
	h.pass(7*24*time.Hour, kept+7*24*time.Hour)
	h.want(0, 0)
}

// A check that took so long that its bound is near begins again.
func TestPartition_Late(t *testing.T) {
	h := newHistory(t)
	h.write()
	h.raise()
	bound := h.now.Add(time.Hour).UnixMilli()
	for table, column := range map[string]string{"thing_archive": "archived_at", "note": "time"} {
		_, err := h.conn.Exec(t.Context(), fmt.Sprintf(`ALTER TABLE "muster_%s".%s ADD CONSTRAINT muster_until CHECK (%s < %d) NOT VALID`, h.cell, table, column, bound))
		if err != nil {
			t.Fatal(err)
		}
	}
	h.pass(0, 0)
	h.now = h.now.Add(2 * time.Hour)
	h.write()
	h.want(2, 2)
}

// While others read a table, what would have to wait for them is left for later.
func TestPartition_Busy(t *testing.T) {
	h := newHistory(t)
	h.raise()
	h.pass(0, 0)
	h.write()
	tx, err := h.conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), fmt.Sprintf(`SELECT count(*) FROM "muster_%s".thing_archive`, h.cell)); err != nil {
		t.Fatal(err)
	}
	h.pass(kept+3*24*time.Hour, 0)
	h.want(1, 0)
	h.write()
	h.want(2, 1)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.pass(time.Minute, 0)
	h.want(1, 1)
}
