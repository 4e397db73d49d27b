package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/postgres"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
)

// ledger is a cell with an archive and a log, whose rows are packed.
type ledger struct {
	url, cell string
	db        store.DB
	fence     store.Fence
	retention time.Duration
	admin     *pgx.Conn
}

var midnight = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func newLedger(t *testing.T) *ledger {
	t.Helper()
	return newLedgerAt(t, pgtest.URL(t))
}

func newLedgerAt(t *testing.T, url string) *ledger {
	t.Helper()
	l := &ledger{url: url, retention: 24 * time.Hour}
	l.cell = pgtest.Cell(t, l.url)
	l.open(t, "first")
	l.admin = l.connect(t)
	return l
}

func (l *ledger) schema() store.Schema {
	return store.Schema{
		Tables: []store.TableSchema{{Name: "account", Retention: l.retention, Columns: []store.ColumnSchema{{Name: "of", Digest: true}}}},
		Logs:   []store.LogSchema{{Name: "booking", Retention: l.retention, Columns: []store.ColumnSchema{{Name: "of", Digest: true}}}},
	}
}

func (l *ledger) open(t *testing.T, owner string) {
	t.Helper()
	var err error
	if l.db, err = postgres.New(l.url).Open(t.Context(), l.cell, l.schema()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.db.Close() })
	if l.fence, err = l.db.Take(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
}

// connect returns a connection of someone else in the cell's schema.
func (l *ledger) connect(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), l.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	l.run(t, conn, fmt.Sprintf(`SET search_path = "muster_%s"`, l.cell))
	return conn
}

func (l *ledger) run(t *testing.T, conn *pgx.Conn, text string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

const longValue = "arn:aws:gamelift:us-east-1::gamesession/fleet-01a20e26-bacf-7000-be2b-4a340499826a/x/gsess-01a20e26-c2ab-7020-bc41-3e23ca3dbfd3"

func (l *ledger) batch(key string, at ...time.Time) *store.Batch {
	b := &store.Batch{Fence: l.fence, Seq: l.fence.Seq + 1, Now: at[len(at)-1]}
	tb, lb := store.TableBatch{}, store.LogBatch{}
	for i, at := range at {
		id := fmt.Sprint(key, i)
		tb.Archives = append(tb.Archives, store.StoredRow{Key: id, Doc: []byte(`{"id":"` + id + `"}`), Columns: []string{longValue}, Time: at})
		lb.Entries = append(lb.Entries, store.StoredEntry{Seq: b.Seq*100 + uint64(i), Doc: []byte(`{}`), Columns: []string{longValue}, Time: at})
	}
	b.Tables, b.Logs = []store.TableBatch{tb}, []store.LogBatch{lb}
	return b
}

// end archives a row and appends an entry for each time, in one commit.
func (l *ledger) end(t *testing.T, key string, at ...time.Time) {
	t.Helper()
	b := l.batch(key, at...)
	if err := l.db.Commit(t.Context(), b); err != nil {
		t.Fatalf("commit %s: %v", key, err)
	}
	l.fence.Seq = b.Seq
}

func (l *ledger) prune(t *testing.T, now time.Time) {
	t.Helper()
	p := store.Pruning{Now: now, Before: []time.Time{now.Add(-l.retention)}, Rows: 100}
	if _, err := l.db.Prune(t.Context(), p); err != nil {
		t.Fatalf("prune: %v", err)
	}
}

// expect checks how many rows are archived, and that there are as many entries.
func (l *ledger) expect(t *testing.T, want int) {
	t.Helper()
	where := []store.Eq{{Column: "of", Value: longValue}}
	docs, err := l.db.Archived(t.Context(), 0, store.Query{Where: where, OrderBy: "key", Limit: 1000})
	entries, also := l.db.Entries(t.Context(), 0, store.LogQuery{Where: where, Limit: 1000})
	if err != nil || also != nil || len(docs) != want || len(entries) != want {
		t.Errorf("%d rows and %d entries, %v, %v; want %d", len(docs), len(entries), err, also, want)
	}
}

// expectArchived checks how many rows are archived.
func (l *ledger) expectArchived(t *testing.T, want int) {
	t.Helper()
	docs, err := l.db.Archived(t.Context(), 0, store.Query{OrderBy: "key", Limit: 1000})
	if err != nil || len(docs) != want {
		t.Errorf("%d rows, %v; want %d", len(docs), err, want)
	}
}

func (l *ledger) partitions(t *testing.T) []string {
	t.Helper()
	rows, err := l.admin.Query(t.Context(), `SELECT inhrelid::regclass::text FROM pg_inherits JOIN pg_class AS c ON c.oid = inhrelid
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// Whatever the clock says, no commit lacks a partition.
func TestPartitions_Clocks(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	year := 365 * 24 * time.Hour
	l.end(t, "a", midnight)
	l.end(t, "b", midnight.Add(time.Hour), midnight.Add(30*time.Hour), midnight.Add(year))
	l.end(t, "c", midnight.Add(year+time.Hour))
	l.end(t, "d", midnight.Add(-year), midnight)
	l.end(t, "e", midnight.Add(2*time.Hour), midnight.Add(2*time.Hour-time.Millisecond))
	l.expect(t, 9)
	l.prune(t, midnight.Add(3*24*time.Hour))
	l.expect(t, 2)
	if err := l.db.SetBack(t.Context(), midnight.Add(4*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	entries, err := l.db.Entries(t.Context(), 0, store.LogQuery{Limit: 9, To: midnight.Add(5 * 24 * time.Hour)})
	if err != nil || len(entries) != 2 {
		t.Errorf("%d entries set back, %v; want 2", len(entries), err)
	}
}

// A retention can be changed: partitions of other widths do not overlap.
func TestPartitions_OtherRetention(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.end(t, "a", midnight.Add(5*time.Hour))
	for i, retention := range []time.Duration{time.Hour, 30 * 24 * time.Hour, 7 * time.Hour} {
		l.retention = retention
		l.open(t, fmt.Sprint("owner-", i))
		for hour := range 12 {
			l.end(t, fmt.Sprint("r", i, "-", hour, "-"), midnight.Add(time.Duration(hour)*time.Hour+time.Duration(i)*17*time.Minute))
		}
	}
	l.expect(t, 37)
	l.prune(t, midnight.Add(90*24*time.Hour))
	l.expect(t, 0)
}

// A reader, such as a backup, delays the drop, and nothing else.
func TestPartitions_BesideReader(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.end(t, "old", midnight)
	later := midnight.Add(48 * time.Hour)
	l.run(t, l.admin, "BEGIN")
	l.run(t, l.admin, `LOCK TABLE "account_archive", "booking" IN ACCESS SHARE MODE`)
	l.prune(t, later)
	l.end(t, "new", later) // a new partition waits for no reader
	l.expect(t, 2)
	l.run(t, l.admin, "COMMIT")
	l.prune(t, later)
	l.expect(t, 1)
}

// An owner that has lost the cell drops nothing, whatever it thinks the time is.
func TestPartitions_Fenced(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.end(t, "a", midnight)
	stale := l.db
	l.open(t, "second")
	p := store.Pruning{Now: midnight.Add(1000 * time.Hour), Before: []time.Time{midnight.Add(900 * time.Hour)}, Rows: 10}
	if _, err := stale.Prune(t.Context(), p); err != nil {
		t.Error(err)
	}
	l.expect(t, 1)
	l.end(t, "b", midnight)
	l.prune(t, midnight.Add(1000*time.Hour))
	l.expect(t, 0)
}

// Partitions that others dropped or made are noticed.
func TestPartitions_OthersChange(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.end(t, "a", midnight)
	for _, name := range l.partitions(t) {
		l.run(t, l.admin, "DROP TABLE "+name)
	}
	l.end(t, "b", midnight.Add(time.Minute))
	l.run(t, l.admin, `CREATE TABLE "booking_202603010400" PARTITION OF "booking" FOR VALUES FROM ('1772337600000') TO ('1772344800000')`)
	l.end(t, "c", midnight.Add(5*time.Hour))
	l.expect(t, 2)
}

// A database whose layout is another one is opened while a backup reads all of its tables.
func TestPartitions_OpenBesideReader(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.end(t, "a", midnight)
	l.run(t, l.admin, fmt.Sprintf(`COMMENT ON SCHEMA "muster_%s" IS 'another layout'`, l.cell))
	l.run(t, l.admin, "BEGIN")
	l.run(t, l.admin, `LOCK TABLE "account", "account_archive", "booking", "muster_cell", "muster_log", "muster_schema" IN ACCESS SHARE MODE`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var err error
	l.db, err = postgres.New(l.url).Open(ctx, l.cell, l.schema())
	if err != nil {
		t.Fatalf("open beside a reader: %v", err)
	}
	defer l.db.Close()
	if l.fence, err = l.db.Take(ctx, "next"); err != nil {
		t.Fatal(err)
	}
	l.end(t, "b", midnight)
	l.expect(t, 2)
	l.run(t, l.admin, "COMMIT")
	l.prune(t, midnight.Add(1000*time.Hour))
	l.expect(t, 0)
}

// While an owner commits, and drops and creates partitions, its connections are closed again
// and again: each commit is settled, and none is stored twice or lost.
func TestPartitions_ConnectionsCut(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	ctx, cancel := context.WithCancel(t.Context())
	killer := l.connect(t)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() {
		for ctx.Err() == nil {
			killer.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'muster'
				AND pid <> pg_backend_pid() AND datname = current_database() AND query LIKE '%' || $1 || '%'`, "booking")
			killer.Exec(ctx, `SELECT pg_sleep(0.1)`)
		}
	})
	db := l.db // a commit changes l.fence
	var clock sync.Mutex
	now := midnight
	running.Go(func() {
		for ctx.Err() == nil {
			clock.Lock()
			at := now
			clock.Unlock()
			db.Prune(ctx, store.Pruning{Now: at, Before: []time.Time{at.Add(-l.retention)}, Rows: 10})
		}
	})
	cuts := 0
	for i := range 50 {
		clock.Lock()
		now = now.Add(time.Hour)
		clock.Unlock()
		cuts += l.settle(t, fmt.Sprintf("r%03d-", i), now)
	}
	cancel()
	running.Wait()
	t.Logf("%d attempts failed", cuts)
	l.prune(t, now)
	entries, err := l.db.Entries(t.Context(), 0, store.LogQuery{Limit: 1000, Desc: true})
	if err != nil || len(entries) < 24 || len(entries) > 28 { // the retention, and a partition
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for i := range entries {
		if want := now.Add(-time.Duration(i) * time.Hour); !entries[i].Time.Equal(want) {
			t.Fatalf("entry %d is of %v, want %v", i, entries[i].Time, want)
		}
	}
}

// settle commits as the journal does, and returns how many attempts failed.
func (l *ledger) settle(t *testing.T, key string, at time.Time) (failed int) {
	t.Helper()
	b := l.batch(key, at)
	for doubt := false; ; failed++ {
		var err error
		if doubt {
			before := l.fence.Seq
			var f store.Fence
			if f, err = l.db.Renew(t.Context(), b.Fence.Owner); err == nil {
				l.fence, doubt = f, false
				if f.Seq == b.Seq {
					return failed
				}
				if f.Seq != before {
					t.Fatalf("sequence %d, want %d or %d", f.Seq, before, b.Seq)
				}
				b.Fence = f
				continue
			}
		} else if err = l.db.Commit(t.Context(), b); err == nil {
			l.fence.Seq = b.Seq
			return failed
		}
		switch {
		case errors.Is(err, store.ErrInDoubt):
			doubt = true
		case !errors.Is(err, store.ErrTransient):
			t.Fatalf("commit %s: %v", key, err)
		}
	}
}

// Long values that are only compared are stored as digests beside documents, and a key that is
// archived again replaces the older row, in whichever partition it is.
func TestPartitions_Rows(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.end(t, "a", midnight)
	var account, booking string
	err := l.admin.QueryRow(t.Context(), `SELECT (SELECT "of" FROM "account_archive"), (SELECT "of" FROM "booking")`).Scan(&account, &booking)
	if err != nil || account != booking || len(account) != 17 || !strings.HasPrefix(account, "#") {
		t.Errorf("%q and %q, %v", account, booking, err)
	}
	l.end(t, "a", midnight.Add(20*time.Hour))
	l.expectArchived(t, 1)
}

// A database that is replicated logically takes commits: archives and logs
// have no key that is unique, and their rows can be deleted all the same.
func TestPartitions_Published(t *testing.T) {
	t.Parallel()
	if os.Getenv(pgtest.Variable) == "" {
		t.Skipf("set %s to run this", pgtest.Variable)
	}
	server, err := pgtest.Start("wal_level=logical")
	if err != nil {
		t.Skipf("a PostgreSQL with logical replication cannot be started: %v", err)
	}
	t.Cleanup(func() { server.Stop() })
	l := newLedgerAt(t, server.URL)
	l.run(t, l.admin, `CREATE PUBLICATION everything FOR ALL TABLES`)
	l.end(t, "a", midnight)
	l.end(t, "a", midnight.Add(20*time.Hour))
	if err := l.db.SetBack(t.Context(), midnight.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	l.expectArchived(t, 1)
}

// A cell is not opened if commits could not create partitions.
func TestPartitions_RoleOwnsNothing(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	role := "writer_" + l.cell
	l.run(t, l.admin, "CREATE ROLE "+role)
	t.Cleanup(func() {
		if _, err := l.admin.Exec(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role); err != nil {
			t.Error(err)
		}
	})
	l.run(t, l.admin, fmt.Sprintf(`GRANT USAGE ON SCHEMA "muster_%[1]s" TO %[2]s; GRANT ALL ON ALL TABLES IN SCHEMA "muster_%[1]s" TO %[2]s`, l.cell, role))
	at, err := url.Parse(l.url)
	if err != nil {
		t.Fatal(err)
	}
	as := at.Query()
	as.Set("role", role)
	at.RawQuery = as.Encode()
	l.url = at.String()
	for _, lacking := range []string{
		`GRANT SELECT ON "account" TO ` + role, // changes nothing
		fmt.Sprintf(`GRANT CREATE ON SCHEMA "muster_%s" TO %s`, l.cell, role),
		`ALTER TABLE "account_archive" OWNER TO ` + role,
		fmt.Sprintf(`ALTER TABLE "booking" OWNER TO %[2]s; REVOKE CREATE ON SCHEMA "muster_%[1]s" FROM %[2]s`, l.cell, role),
	} {
		l.run(t, l.admin, lacking)
		if _, err := postgres.New(l.url).Open(t.Context(), l.cell, l.schema()); err == nil || !strings.Contains(err.Error(), "OWNER TO "+role) {
			t.Errorf("opened after %s: %v", lacking, err)
		}
	}
	l.run(t, l.admin, fmt.Sprintf(`GRANT CREATE ON SCHEMA "muster_%s" TO %s`, l.cell, role))
	for _, right := range []string{"INSERT", "DELETE"} {
		l.run(t, l.admin, fmt.Sprintf(`REVOKE %s ON "muster_commit" FROM %s`, right, role))
		if _, err := postgres.New(l.url).Open(t.Context(), l.cell, l.schema()); err == nil || !strings.Contains(err.Error(), "OWNER TO "+role) {
			t.Errorf("opened without the right to %s: %v", right, err)
		}
		l.run(t, l.admin, fmt.Sprintf(`GRANT %s ON "muster_commit" TO %s`, right, role))
	}
	l.open(t, "second")
	l.end(t, "b", midnight)
	l.expect(t, 1)
}

// A partition that somebody detached keeps its name, and is in the way of no commit.
func TestPartitions_Detached(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.end(t, "a", midnight)
	for _, name := range l.partitions(t) {
		table, _, _ := strings.Cut(name, "_2")
		l.run(t, l.admin, "ALTER TABLE "+table+" DETACH PARTITION "+name)
	}
	l.end(t, "b", midnight)
	l.end(t, "c", midnight.Add(time.Minute))
	l.expect(t, 2)
}

// A backup is restored into a cell whose partitions are empty, whatever its times are.
func TestPartitions_FillEmpty(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.end(t, "a", midnight)
	for _, name := range l.partitions(t) {
		l.run(t, l.admin, "DELETE FROM "+name)
	}
	err := l.db.Fill(t.Context(), func(add func(store.Item) error) (store.State, error) {
		for i, at := range []time.Time{midnight.Add(time.Minute), {}} { // 1970 is read as the zero time
			it := store.Item{Place: store.Archive, Key: fmt.Sprint(i), Doc: []byte(`{}`), Columns: []string{"x"}, Time: at}
			if err := add(it); err != nil {
				return store.State{}, err
			}
		}
		return store.State{Fence: l.fence, Last: []uint64{0}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	l.expectArchived(t, 2)
}

// A commit that reads which partitions there are, while some are dropped, does not fail.
func TestPartitions_ReadWhileDropped(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	var dropping sync.WaitGroup
	defer dropping.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var hours atomic.Int64
	db := l.db
	dropping.Go(func() {
		for ctx.Err() == nil {
			now := midnight.Add(time.Duration(hours.Load()) * time.Hour)
			db.Prune(ctx, store.Pruning{Now: now, Before: []time.Time{now.Add(-l.retention)}, Rows: 100})
		}
	})
	for hour := range 120 {
		hours.Store(int64(hour))
		l.end(t, fmt.Sprint("k", hour%7, "-"), midnight.Add(time.Duration(hour)*time.Hour))
	}
}
