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

func (s *shop) stock(t *testing.T) {
	t.Helper()
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		for i := range 700 {
			s.items.Put(tx, &item{ID: fmt.Sprintf("i%03d", i), Kind: "cup", Code: fmt.Sprint("c", i)})
		}
		for i := range 100 {
			s.items.Archive(tx, fmt.Sprintf("i%03d", i))
			s.sales.Append(tx, &item{ID: fmt.Sprint(i), Kind: "sold"})
		}
		return nil
	})
	if err != nil {
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

// betweenEngines runs a test from and to an empty database of each engine, with a name for a
// backup.
func betweenEngines(t *testing.T, test func(t *testing.T, from, to store.Driver, file string)) {
	t.Parallel()
	for from, source := range engines(t) {
		for to, target := range engines(t) {
			t.Run(from+" to "+to, func(t *testing.T) {
				test(t, source(t), target(t), filepath.Join(t.TempDir(), "backup.db"))
			})
		}
	}
}

func TestBackup_AnyEngineToAnyEngine(t *testing.T) {
	betweenEngines(t, func(t *testing.T, from, to store.Driver, file string) {
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
	})
}

// TestBackup_Ended backs up and restores what has ended, some of it again.
func TestBackup_Ended(t *testing.T) {
	betweenEngines(t, func(t *testing.T, from, to store.Driver, file string) {
		s := newShop(from, false)
		s.open(t)
		s.end(t, 0, 40)
		s.end(t, 30, 100) // some of them again
		if err := backup.Write(t.Context(), newShop(from, false).Store, from, file); err != nil {
			t.Fatal(err)
		}
		restored := newShop(to, true) // with a column more
		if err := backup.Restore(t.Context(), restored.Store, file); err != nil {
			t.Fatal(err)
		}
		report, err := restored.Verify(t.Context())
		if err != nil || len(report.Problems) > 0 || report.Tables[0].Archived != 100 || report.Logs[0].Entries != 110 {
			t.Errorf("restored: %+v, %v", report, err)
		}
		restored.open(t)
		for _, i := range []int{7, 35, 99} {
			found, err := restored.items.Archived(t.Context(), store.Query{Where: []store.Eq{{Column: "code", Value: code(i)}}, Limit: 10})
			if err != nil || len(found) != 1 || found[0].ID != fmt.Sprintf("i%03d", i) {
				t.Errorf("archived %d by a column of the later release: %v, %v", i, found, err)
			}
		}
		sold, err := restored.sales.Read(t.Context(), store.LogQuery{Limit: 1000})
		if err != nil || len(sold) != 110 || sold[0].Value.ID != "0" || sold[109].Value.ID != "99" {
			t.Errorf("%d entries, %v", len(sold), err)
		}
	})
}

// code returns a long code.
func code(i int) string { return fmt.Sprintf("a-long-code-that-is-only-compared-%04d", i) }

// end archives items, and appends an entry for each.
func (s *shop) end(t *testing.T, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		v := &item{ID: fmt.Sprintf("i%03d", i), Kind: "cup", Code: code(i)}
		err := s.Update(t.Context(), func(tx *store.Tx) error {
			s.items.Put(tx, v)
			s.sales.Append(tx, &item{ID: fmt.Sprint(i), Kind: "sold"})
			return nil
		})
		if err == nil {
			err = s.Update(t.Context(), func(tx *store.Tx) error { s.items.Archive(tx, v.ID); return nil })
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func checkRestored(t *testing.T, s *shop, digest string) {
	t.Helper()
	report, err := s.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	table, log := report.Tables[0], report.Logs[0]
	if len(report.Problems) > 0 || report.Digest != digest || table.Live != 600 || table.Archived != 100 || log.Entries != 100 || log.Last != 100 {
		t.Errorf("restored: %+v", report)
	}
	s.open(t)
	archived, err := s.items.Archived(t.Context(), store.Query{Where: []store.Eq{{Column: "code", Value: "c7"}}, Limit: 10})
	if err != nil || len(archived) != 1 || archived[0].ID != "i007" {
		t.Errorf("archived by a column of the later release: %v, %v", archived, err)
	}
	err = s.Update(context.Background(), func(tx *store.Tx) error { s.items.Put(tx, &item{ID: "thief", Code: "c200"}); return nil })
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
