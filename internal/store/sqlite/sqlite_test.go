package sqlite_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqlite"
	"github.com/musterhq/muster/internal/store/storetest"
)

// open opens a database of the default cell in a directory, until the test ends.
func open(t *testing.T, dir string, schema store.Schema) store.DB {
	t.Helper()
	db, err := sqlite.New(dir).Open(t.Context(), "default", schema)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// owned opens a database in a new directory, and takes the cell. A commit of the returned function
// has the next sequence.
func owned(t *testing.T, schema store.Schema) (store.DB, func(*store.Batch) error) {
	t.Helper()
	db := open(t, t.TempDir(), schema)
	fence, err := db.Take(t.Context(), "owner")
	if err != nil {
		t.Fatal(err)
	}
	return db, func(b *store.Batch) error {
		b.Fence, b.Seq, b.Now = fence, fence.Seq+1, noon
		err := db.Commit(t.Context(), b)
		if err == nil {
			fence.Seq++
		}
		return err
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestDriver(t *testing.T) {
	t.Parallel()
	storetest.TestDriver(t, func(t *testing.T) (store.Driver, string) { return sqlite.New(t.TempDir()), "default" })
}

// Tables without partitions lose exactly what has expired, and no more at once than they are told.
func TestPrune_Counts(t *testing.T) {
	t.Parallel()
	const retention = time.Hour
	db, commit := owned(t, store.Schema{
		Tables: []store.TableSchema{{Name: "order", Retention: retention}},
		Logs:   []store.LogSchema{{Name: "note", Retention: retention}},
	})
	row := func(key string, at time.Time) store.StoredRow {
		return store.StoredRow{Key: key, Doc: []byte(`{}`), Time: at}
	}
	late := noon.Add(time.Minute)
	if err := commit(&store.Batch{
		Tables: []store.TableBatch{{Archives: []store.StoredRow{row("a", noon), row("b", noon), row("late", late)}}},
		Logs:   []store.LogBatch{{Entries: []store.StoredEntry{{Seq: 1, Time: noon, Doc: []byte(`1`)}, {Seq: 2, Time: late, Doc: []byte(`2`)}}}},
	}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at          time.Time
		limit, want int
	}{
		{noon.Add(retention - time.Second), 9, 0},
		{noon.Add(retention), 2, 2},
		{noon.Add(retention), 9, 1},
		{noon.Add(retention), 9, 0},
	} {
		n, err := db.Prune(t.Context(), store.Pruning{Now: c.at, Before: []time.Time{c.at.Add(-retention)}, Rows: c.limit})
		if err != nil || n != c.want {
			t.Errorf("Prune at %v, limit %d = %d, %v, want %d", c.at, c.limit, n, err, c.want)
		}
	}
	if keys, err := db.ArchivedKeys(t.Context(), 0, "", 9); err != nil || len(keys) != 1 || keys[0] != "late" {
		t.Errorf("archived rows left: %q, %v", keys, err)
	}
	if left, err := db.Entries(t.Context(), 0, store.LogQuery{Limit: 9}); err != nil || len(left) != 1 || left[0].Seq != 2 {
		t.Errorf("entries left: %v, %v", left, err)
	}
}

func TestOpen_DirectoryInUse(t *testing.T) {
	t.Parallel()
	driver := sqlite.New(t.TempDir())
	db, err := driver.Open(t.Context(), "default", store.Schema{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = driver.Open(t.Context(), "default", store.Schema{})
	if err == nil || !strings.Contains(err.Error(), "process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("second Open: %v, want the holder's process id", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db, err = driver.Open(t.Context(), "default", store.Schema{})
	if err != nil {
		t.Fatalf("Open after Close: %v", err)
	}
	db.Close()
}

func TestOpen_DamagedFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := store.New(store.Options{Driver: sqlite.New(dir)})
	rows := store.NewTable(s, store.TableSpec[string]{Name: "word", Key: func(s *string) string { return *s }})
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		for i := range 2000 {
			word := strings.Repeat("w", 100) + strconv.Itoa(i)
			rows.Put(tx, &word)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "muster.db")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	copy(raw[len(raw)/2:], bytes.Repeat([]byte{0xee}, 8192))
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.New(dir).Open(t.Context(), "default", store.Schema{}); err == nil || !strings.Contains(err.Error(), "restore a backup") {
		t.Errorf("Open of a damaged file: %v", err)
	}
}

// TestOpen_Settings checks what killing a process cannot show: that commits wait for
// the disk.
func TestOpen_Settings(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir(), store.Schema{})
	for name, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "wal_autocheckpoint": "64000"} {
		if got := sqlite.Pragma(t, db, name); got != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.TestStore(t, func(t *testing.T) (store.Driver, string) { return sqlite.New(t.TempDir()), "default" })
}

// A query that clients repeat with many limits is prepared once.
func TestAsk_LimitIsNoNewQuestion(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir(), store.Schema{
		Tables: []store.TableSchema{{Name: "order", Retention: time.Hour}},
		Logs:   []store.LogSchema{{Name: "note", Retention: time.Hour}},
	})
	for limit := range 20 {
		if _, err := db.Archived(t.Context(), 0, store.Query{OrderBy: "key", Limit: limit + 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Entries(t.Context(), 0, store.LogQuery{Limit: limit + 1}); err != nil {
			t.Fatal(err)
		}
	}
	if n := sqlite.Asked(db); n != 2 {
		t.Errorf("%d statements are prepared for 2 questions", n)
	}
}

// A program that does not know the feature level of a database does not open it, nor reads
// it for a backup, and names the release that does.
func TestOpen_NewerLevel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := open(t, dir, store.Schema{})
	sqlite.SetLevel(t, db, 99, "v9.0.0")
	db.Close()
	if _, err := sqlite.New(dir).Open(t.Context(), "default", store.Schema{}); err == nil || !strings.Contains(err.Error(), "use Muster v9.0.0, or a newer release") {
		t.Errorf("Open of a newer feature level: %v", err)
	}
	seen, err := sqlite.New(dir).Inspect(t.Context(), "default", store.Schema{})
	if err != nil {
		t.Fatal(err)
	}
	defer seen.Close()
	if _, err := seen.Dump(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "use Muster v9.0.0") {
		t.Errorf("Dump of a newer feature level: %v", err)
	}
}

// Only their owner can read the database, the files next to it, and a backup, whatever
// the umask and their previous modes.
func TestFiles_Private(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := sqlite.New(dir)
	for range 2 {
		db, err := d.Open(t.Context(), "c", store.Schema{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Take(t.Context(), "me"); err != nil {
			t.Fatal(err)
		}
		backup := filepath.Join(t.TempDir(), "backup.db")
		if err := d.Backup(t.Context(), backup); err != nil {
			t.Fatal(err)
		}
		if err := d.Backup(t.Context(), backup); err == nil {
			t.Error("a backup was written over a file")
		}
		files, err := filepath.Glob(filepath.Join(dir, "muster.db*"))
		if err != nil || len(files) < 3 {
			t.Fatalf("files %v, %v; want the database, -wal and -shm", files, err)
		}
		for _, file := range append(files, backup) {
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the mode of %s is %v, %v; want 0600", filepath.Base(file), info.Mode(), err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, "muster.db"), 0o644); err != nil { // as an earlier version left it
			t.Fatal(err)
		}
	}
}

// A row that is said to be new never replaces another, and others need not be there.
func TestCommit_NewRow(t *testing.T) {
	t.Parallel()
	for _, columns := range [][]store.ColumnSchema{nil, {{Name: "place", Unique: true}}} {
		db, commitBatch := owned(t, store.Schema{Tables: []store.TableSchema{{Name: "order", Columns: columns}}})
		row := func(key, doc string, fresh, same bool) store.StoredRow {
			return store.StoredRow{Key: key, Doc: []byte(doc), Columns: make([]string, len(columns)), New: fresh, Same: same}
		}
		commit := func(rows ...store.StoredRow) error {
			return commitBatch(&store.Batch{Tables: []store.TableBatch{{Puts: rows}}})
		}
		if err := commit(row("a", "1", true, false), row("b", "1", false, false), row("c", "1", false, true)); err != nil {
			t.Fatal(err)
		}
		if err := commit(row("a", "2", false, true), row("b", "2", false, false), row("d", "2", true, false)); err != nil {
			t.Fatal(err)
		}
		if err := commit(row("a", "3", false, true), row("e", "3", true, false), row("b", "3", true, false)); err == nil {
			t.Error("a new row replaced another")
		}
		found := map[string]string{}
		if _, err := db.Load(t.Context(), func(_ int, key string, doc []byte) error { found[key] = string(doc); return nil }); err != nil {
			t.Fatal(err)
		}
		if want := map[string]string{"a": "2", "b": "2", "c": "1", "d": "2"}; !maps.Equal(found, want) {
			t.Errorf("rows %v, want %v", found, want)
		}
	}
}
