package sqlite_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/store/sqlite"
)

// TestVFS_Durable copies the files after each transaction, as a process that is killed
// then would leave them, and reads the copy with the system's own VFS. The transactions
// are larger than the cache, so that SQLite reads what it has written to the log, writes
// parts of it again, and undoes other parts.
func TestVFS_Durable(t *testing.T) {
	t.Parallel()
	for _, synchronous := range []string{"FULL", "NORMAL"} {
		t.Run(synchronous, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "muster.db")
			db := openFile(t, sqlite.Address(t, file)+"&_pragma=cache_size(8)&_pragma=synchronous("+synchronous+")")
			run(t, db, `CREATE TABLE "row" ("id" INTEGER PRIMARY KEY, "round" INTEGER, "body" TEXT)`)
			run(t, db, `CREATE INDEX "row_by_body" ON "row" ("body")`)
			want := 0
			for round := range 12 {
				run(t, db, "BEGIN IMMEDIATE")
				for i := range 150 {
					run(t, db, `INSERT INTO "row" ("round", "body") VALUES (?, ?)`, round, strings.Repeat(fmt.Sprint(i*7919%150), 400))
				}
				run(t, db, "SAVEPOINT part")
				run(t, db, `DELETE FROM "row" WHERE "id" % 3 = 0`)
				run(t, db, `UPDATE "row" SET "body" = "body" || 'x'`)
				if round%3 == 1 {
					run(t, db, "ROLLBACK TO part")
				}
				if round%4 == 3 {
					run(t, db, "ROLLBACK")
				} else {
					run(t, db, "COMMIT")
				}
				want = number(t, db, `SELECT count(*) FROM "row"`)
				if round == 6 {
					run(t, db, "PRAGMA wal_checkpoint(TRUNCATE)")
				}
				read := openFile(t, "file:"+copyOf(t, file))
				if got := number(t, read, `SELECT count(*) FROM "row"`); got != want {
					t.Fatalf("round %d: the copy has %d rows, want %d", round, got, want)
				}
				if got := number(t, read, `SELECT count(*) FROM pragma_integrity_check WHERE "integrity_check" = 'ok'`); got != 1 {
					t.Fatalf("round %d: the copy is damaged", round)
				}
			}
		})
	}
}

// openFile opens a database with one connection.
func openFile(t *testing.T, address string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", address)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func run(t *testing.T, db *sql.DB, text string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), text, args...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func number(t *testing.T, db *sql.DB, text string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), text).Scan(&n); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return n
}

// copyOf copies a database and its log, but not the index of the log.
func copyOf(t *testing.T, file string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy.db")
	for _, suffix := range []string{"", "-wal"} {
		raw, err := os.ReadFile(file + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to+suffix, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}
