package postgres_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/postgres"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	storetest.TestStore(t, func(t *testing.T) (store.Driver, string) { return postgres.New(url), pgtest.Cell(t, url) })
}

type word struct {
	Text string `json:"text"`
}

type book struct {
	*store.Store
	words *store.Table[word]
	add   *store.Command[string, uint64]
}

func openBook(t *testing.T, url, cell string) *book {
	t.Helper()
	b := newBook(t, url, cell)
	if err := b.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// newBook returns a book that is not open.
func newBook(t *testing.T, url, cell string) *book {
	t.Helper()
	return newLoggedBook(t, url, cell, nil)
}

// newLoggedBook is newBook with a logger.
func newLoggedBook(t *testing.T, url, cell string, log *slog.Logger) *book {
	t.Helper()
	b := &book{Store: store.New(store.Options{Driver: postgres.New(url), Cell: cell, Logger: log})}
	b.words = store.NewTable(b.Store, store.TableSpec[word]{Name: "word", Key: func(w *word) string { return w.Text }})
	b.add = store.NewCommand(b.Store, "add", func(tx *store.Tx, text string) (uint64, error) {
		b.words.Put(tx, &word{text})
		return 0, nil
	})
	t.Cleanup(func() { b.Close() })
	return b
}

func (b *book) addOnce(t *testing.T, text string) error {
	_, err := b.add.Do(t.Context(), text)
	return err
}

// TestTwoCells: the cells of one database are independent.
func TestTwoCells(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	east, west := openBook(t, url, pgtest.Cell(t, url)), openBook(t, url, pgtest.Cell(t, url))
	if _, err := east.add.Do(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := west.add.Do(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	storetest.CheckReload(t, east.Store)
	storetest.CheckReload(t, west.Store)
}

// TestConnectionsCut closes all of the store's connections while it writes: callers may
// get errors in the meantime, but acknowledged words are kept, and the store recovers
// by itself.
func TestConnectionsCut(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	b := openBook(t, url, "default")
	admin, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(t.Context())
	stop, acknowledged := make(chan struct{}), make(chan []string)
	go func() {
		var added []string
		for {
			select {
			case <-stop:
				acknowledged <- added
				return
			default:
			}
			text := time.Now().Format(time.RFC3339Nano)
			if b.addOnce(t, text) == nil {
				added = append(added, text)
			}
		}
	}()
	cut := 0
	for round := range 12 {
		var n int
		err := admin.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		cut += n
		for b.addOnce(t, fmt.Sprint("round ", round)) != nil {
		}
	}
	close(stop)
	added := <-acknowledged
	for b.addOnce(t, "last") != nil {
	}
	for _, text := range added {
		if b.words.Get(b.View(), text) == nil {
			t.Errorf("acknowledged word %s is lost", text)
		}
	}
	storetest.CheckReload(t, b.Store)
	t.Logf("%d connections cut, %d words acknowledged", cut, len(added))
}
