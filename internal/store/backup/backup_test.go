package backup_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/backup"
	"github.com/musterhq/muster/internal/store/postgres"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/store/sqlite"
)

type item struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	Code string `json:"code"`
}

type shop struct {
	*store.Store
	items *store.Table[item]
	sales *store.Log[item]
}

// newShop registers the tables; the later release has more columns.
func newShop(driver store.Driver, later bool) *shop {
	s := &shop{Store: store.New(store.Options{Driver: driver})}
	columns := []store.Column[item]{{Name: "kind", Value: func(v *item) string { return v.Kind }}}
	if later {
		columns = append(columns, store.Column[item]{Name: "code", Value: func(v *item) string { return v.Code }, Unique: true, Digest: true})
	}
	s.items = store.NewTable(s.Store, store.TableSpec[item]{Name: "item", Key: func(v *item) string { return v.ID },
		Columns: columns, Retention: time.Hour})
	s.sales = store.NewLog(s.Store, store.LogSpec[item]{Name: "sale", Columns: columns})
	return s
}

func (s *shop) open(t *testing.T) {
	t.Helper()
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
}

// stock stores 600 items, and 100 that have ended, of which some had before, with an entry each.
func (s *shop) stock(t *testing.T) {
	t.Helper()
	ended := func(from, to int) {
		for i := from; i < to; i++ {
			s.update(t, func(tx *store.Tx) {
				s.items.Put(tx, &item{ID: fmt.Sprintf("i%03d", i), Kind: "cup", Code: code(i)})
				s.sales.Append(tx, &item{ID: fmt.Sprint(i), Kind: "sold"})
			})
			s.update(t, func(tx *store.Tx) { s.items.Archive(tx, fmt.Sprintf("i%03d", i)) })
		}
	}
	ended(0, 40)
	ended(30, 100)
	s.update(t, func(tx *store.Tx) {
		for i := 100; i < 700; i++ {
			s.items.Put(tx, &item{ID: fmt.Sprintf("i%03d", i), Kind: "cup", Code: code(i)})
		}
	})
}

// code returns a long code.
func code(i int) string { return fmt.Sprintf("a-long-code-that-is-only-compared-%04d", i) }

func (s *shop) update(t *testing.T, f func(*store.Tx)) {
	t.Helper()
	if err := s.Update(t.Context(), func(tx *store.Tx) error { f(tx); return nil }); err != nil {
		t.Fatal(err)
	}
}

// engines returns a driver of each available engine, each for an empty database.
func engines(t *testing.T) map[string]func(*testing.T) store.Driver {
	url := os.Getenv(pgtest.Variable)
	all := map[string]func(*testing.T) store.Driver{"sqlite": func(t *testing.T) store.Driver { return sqlite.New(t.TempDir()) }}
	if url != "" {
		all["postgres"] = func(t *testing.T) store.Driver { return postgres.New(pgtest.Database(t)) }
	}
	return all
}

func TestBackup_AnyEngineToAnyEngine(t *testing.T) {
	t.Parallel()
	for source, from := range engines(t) {
		for target, to := range engines(t) {
			t.Run(source+" to "+target, func(t *testing.T) { testBackup(t, from(t), to(t)) })
		}
	}
}

func testBackup(t *testing.T, from, to store.Driver) {
	file := filepath.Join(t.TempDir(), "backup.db")
	s := newShop(from, false)
	s.open(t)
	s.stock(t)
	if err := backup.Write(t.Context(), newShop(from, false).Store, from, file); err != nil {
		t.Fatal(err)
	}
	if err := backup.Write(t.Context(), s.Store, from, file); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("a second backup to the same file: %v", err)
	}
	restored := newShop(to, true)
	if err := backup.Restore(t.Context(), restored.Store, file); err != nil {
		t.Fatal(err)
	}
	if err := backup.Restore(t.Context(), restored.Store, file); !errors.Is(err, store.ErrNotEmpty) {
		t.Errorf("a second restore: %v", err)
	}
	checkRestored(t, restored, s.View().Digest())
}

func checkRestored(t *testing.T, s *shop, digest string) {
	t.Helper()
	report, err := s.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	table, log := report.Tables[0], report.Logs[0]
	if len(report.Problems) > 0 || report.Digest != digest || table.Live != 600 || table.Archived != 100 || log.Entries != 110 || log.Last != 110 {
		t.Errorf("restored: %+v", report)
	}
	s.open(t)
	for _, i := range []int{7, 35, 99} {
		found, err := s.items.Archived(t.Context(), store.Query{Where: []store.Eq{{Column: "code", Value: code(i)}}, Limit: 10})
		if err != nil || len(found) != 1 || found[0].ID != fmt.Sprintf("i%03d", i) {
			t.Errorf("archived %d by a column of the later release: %v, %v", i, found, err)
		}
	}
	sold, err := s.sales.Read(t.Context(), store.LogQuery{Limit: 1000})
	if err != nil || len(sold) != 110 || sold[0].Value.ID != "0" || sold[109].Value.ID != "99" {
		t.Errorf("%d entries, %v", len(sold), err)
	}
	err = s.Update(context.Background(), func(tx *store.Tx) error { s.items.Put(tx, &item{ID: "thief", Code: code(200)}); return nil })
	if err == nil {
		t.Error("a unique value of an old row was given twice")
	}
}

// TestOpen_LaterRelease opens a database in place with more columns.
func TestOpen_LaterRelease(t *testing.T) {
	t.Parallel()
	for name, place := range engines(t) {
		t.Run(name, func(t *testing.T) {
			driver := place(t)
			s := newShop(driver, false)
			s.open(t)
			s.stock(t)
			digest := s.View().Digest()
			s.Close()
			later := newShop(driver, true)
			later.open(t)
			later.Close()
			checkRestored(t, newShop(driver, true), digest)
		})
	}
}

func TestRestore_NoBackup(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	for _, content := range []string{"", "this is no database, but it is long enough to be looked at"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		s := newShop(sqlite.New(t.TempDir()), false)
		if err := backup.Restore(t.Context(), s.Store, file); err == nil {
			t.Errorf("restore of a file with %q succeeded", content)
		}
	}
}
