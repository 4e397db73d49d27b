package postgres

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
)

var rowCost = flag.Int("row-cost", 0, "how many commits of each size measure what the row for standbys costs; 0 skips it")

// priced is a cell whose commits are measured.
type priced struct {
	name    string
	db      *db
	fence   store.Fence
	backend uint32 // the process of its connection
	silent  bool   // the row is not written

	cpu, wal []float64 // of each commit
}

// TestRowCost measures, on Linux, what PostgreSQL spends on commits without and with the row that
// standbys read: processor time and write-ahead log. Two cells get the same commits in turn, each on a connection of its own, so whatever else
// the machine does concerns both. It prints only: the figures differ with the machine.
func TestRowCost(t *testing.T) {
	if *rowCost == 0 {
		t.Skip("a measurement: run it with -row-cost 2000 -v and " + pgtest.Variable)
	}
	url := pgtest.Database(t)
	cells := []*priced{priceCell(t, url, "without"), priceCell(t, url, "with")}
	cells[0].silent = true
	fmt.Printf("\n| game sessions started by a commit | row | processor time, µs: median | to without | write-ahead log, bytes: median | to without |\n|---|---|---|---|---|---|\n")
	first := 0
	for _, size := range []int{1, 5, 20, 60} {
		for n := range *rowCost + 50 {
			for i := range cells {
				cells[(i+n)%len(cells)].commit(t, first, size, n >= 50)
			}
			first += size
		}
		for _, c := range cells {
			base := cells[0]
			fmt.Printf("| %d | %s | %.0f | %.3f | %.0f | %.3f |\n", size, c.name, median(c.cpu)/1e3, median(c.cpu)/median(base.cpu), median(c.wal), median(c.wal)/median(base.wal))
		}
		for _, c := range cells {
			c.cpu, c.wal = nil, nil
		}
	}
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

func priceCell(t *testing.T, url, name string) *priced {
	t.Helper()
	columns := []store.ColumnSchema{{Name: "fleet"}, {Name: "status"}}
	opened, err := New(url).Open(t.Context(), strings.ReplaceAll(name, " ", "-"), store.Schema{
		Tables: []store.TableSchema{{Name: "game_session", Columns: columns}, {Name: "process", Columns: columns}},
		Logs:   []store.LogSchema{{Name: "event", Columns: columns, Retention: 90 * 24 * time.Hour}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	c := &priced{name: name, db: opened.(*db)}
	if c.fence, err = c.db.Take(t.Context(), "owner"); err != nil {
		t.Fatal(err)
	}
	conn, err := c.db.writer.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.backend = conn.Conn().PgConn().PID()
	conn.Release()
	return c
}

// commit commits the starts of as many game sessions as size, each on a process of its own.
func (c *priced) commit(t *testing.T, first, size int, keep bool) {
	t.Helper()
	now := time.Now()
	games, processes, events := make([]store.StoredRow, size), make([]store.StoredRow, size), make([]store.StoredEntry, size)
	for i := range size {
		n := first + i
		columns := []string{"fleet-5b1a3f0e-6f1d-4f51-9a57-6d1c7e0b8f11", "ACTIVE"}
		// A spread of n over 64 bits: as far as keys differ, they look random.
		id := fmt.Sprintf("%016x-%s", uint64(n+1)*0x9e3779b97f4a7c15, "4c1d-8d0e-3b5f")
		doc := func(length int) []byte {
			return fmt.Appendf(nil, `{"id":%q,"fleet":%q,"data":%q}`, id, columns[0], strings.Repeat("0123456789abcdef", length/16))
		}
		games[i] = store.StoredRow{Key: "arn:aws:gamelift:us-east-1::gamesession/" + columns[0] + "/gsess-" + id, Doc: doc(600), Columns: columns, New: true, Time: now}
		processes[i] = store.StoredRow{Key: fmt.Sprintf("%s/host-%d/process-%d", columns[0], n*7%100, n*7919%5000), Doc: doc(400), Columns: columns, Time: now}
		events[i] = store.StoredEntry{Seq: uint64(n + 1), Time: now, Doc: doc(200), Columns: columns}
	}
	b := &store.Batch{Fence: c.fence, Seq: c.fence.Seq + uint64(size), Now: now,
		Tables: []store.TableBatch{{Table: 0, Puts: games}, {Table: 1, Puts: processes}}, Logs: []store.LogBatch{{Log: 0, Entries: events}}}
	commit := c.db.Commit
	if c.silent {
		commit = c.db.commitSilently
	}
	cpu, wal := c.spent(t)
	if err := commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	c.fence.Seq = b.Seq
	cpuAfter, walAfter := c.spent(t)
	if keep {
		c.cpu, c.wal = append(c.cpu, cpuAfter-cpu), append(c.wal, walAfter-wal)
	}
}

// commitSilently is Commit without the row that standbys read.
func (db *db) commitSilently(ctx context.Context, b *store.Batch) error {
	conn, err := db.writer.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	lacks, err := db.need(query(ctx, conn.Conn()), b)
	if err != nil {
		return err
	}
	p := db.statements(b, lacks)
	silent := strings.Replace(p.texts[0], tellCommit, "", 1)
	if silent == p.texts[0] {
		return errors.New("the first statement does not write the row: " + silent)
	}
	p.texts[0], p.args[0] = silent, p.args[0][:len(p.args[0])-2]
	if err := p.run(ctx, conn.Conn()); err != nil {
		return err
	}
	db.parted.made(lacks)
	return nil
}

// spent returns the processor time in ns of the cell's connection, and the position of the
// write-ahead log.
func (c *priced) spent(t *testing.T) (cpu, wal float64) {
	t.Helper()
	if err := c.db.reader.QueryRow(context.Background(), `SELECT (pg_current_wal_insert_lsn() - '0/0')::float8`).Scan(&wal); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", c.backend))
	if err == nil {
		_, err = fmt.Sscan(string(raw), &cpu)
	}
	if err != nil {
		t.Fatalf("the processor time of PostgreSQL, which has to run on this machine: %v", err)
	}
	return cpu, wal
}
