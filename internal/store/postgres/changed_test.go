package postgres_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/internal/feature"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/postgres"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/wait"
)

// watched is a cell seen by a standby.
type watched struct {
	owner *book
	url   string
	cell  string
	db    interface {
		store.DB
		Changes(ctx context.Context, since store.State) (store.Changes, error)
	}
	since store.State
}

func watch(t *testing.T) *watched {
	t.Helper()
	url := pgtest.URL(t)
	w := &watched{url: url, cell: pgtest.Cell(t, url)}
	w.owner = openBook(t, url, w.cell)
	w.add(t, "first")
	db, err := postgres.New(url).Connect(t.Context(), w.cell, store.Schema{Tables: []store.TableSchema{{Name: "word"}}})
	if err != nil || db == nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { db.Close() })
	w.db = db.(interface {
		store.DB
		Changes(ctx context.Context, since store.State) (store.Changes, error)
	})
	w.read(t)
	return w
}

// read reads everything.
func (w *watched) read(t *testing.T) {
	t.Helper()
	var err error
	if w.since, err = w.db.Load(t.Context(), func(int, string, []byte) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

func (w *watched) add(t *testing.T, text string) {
	t.Helper()
	if err := w.owner.addOnce(t, text); err != nil {
		t.Fatal(err)
	}
}

// sql runs statements in the cell's schema.
func (w *watched) sql(t *testing.T, statements ...string) {
	t.Helper()
	pgtest.Execute(t, w.url, append([]string{`SET search_path TO "muster_` + w.cell + `"`}, statements...)...)
}

// changes returns the changed rows as text, and goes on from there.
func (w *watched) changes(t *testing.T) (rows []string, err error) {
	t.Helper()
	c, err := w.db.Changes(t.Context(), w.since)
	if err != nil {
		return nil, err
	}
	for _, r := range c.Rows {
		rows = append(rows, fmt.Sprintf("%s %s", r.Key, r.Doc))
	}
	slices.Sort(rows)
	w.since = c.State
	return rows, nil
}

func (w *watched) expect(t *testing.T, want ...string) {
	t.Helper()
	got, err := w.changes(t)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// TestChanges: a standby learns of each commit what is there afterwards, once.
func TestChanges(t *testing.T) {
	t.Parallel()
	w := watch(t)
	w.expect(t)
	w.add(t, "second")
	w.add(t, `th"ird \ with, {marks}`)
	w.expect(t, `second {"text":"second"}`, `th"ird \ with, {marks} {"text":"th\"ird \\ with, {marks}"}`)
	w.expect(t)
	if err := w.owner.Update(t.Context(), func(tx *store.Tx) error {
		w.owner.words.Delete(tx, "second")
		w.owner.words.Put(tx, &word{"fourth"})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.owner.Update(t.Context(), func(tx *store.Tx) error { w.owner.words.Delete(tx, "fourth"); return nil }); err != nil {
		t.Fatal(err)
	}
	w.expect(t, "fourth ", "second ")
	next := openBook(t, w.url, w.cell) // another owner changes nothing, nor does what the former would have committed
	if err := w.owner.addOnce(t, "ghost"); err == nil {
		t.Error("the former owner writes")
	}
	w.expect(t)
	if err := next.addOnce(t, "fifth"); err != nil {
		t.Fatal(err)
	}
	w.expect(t, `fifth {"text":"fifth"}`)
}

// TestChanges_Gap: a standby that was away for too long, does not find a commit, or finds one that is
// damaged or another than it knows has to read everything. It goes on from there.
func TestChanges_Gap(t *testing.T) {
	t.Parallel()
	w := watch(t)
	gap := func(what string) {
		t.Helper()
		if rows, err := w.changes(t); !errors.Is(err, store.ErrGap) {
			t.Fatalf("%s are read as %v, %v", what, rows, err)
		}
	}
	prune := func() {
		t.Helper()
		if _, err := w.db.Prune(t.Context(), store.Pruning{Now: time.Now().Add(time.Hour), Before: make([]time.Time, 9), Rows: 10}); err != nil {
			t.Fatal(err)
		}
	}
	w.add(t, "pruned")
	w.add(t, "second")
	prune()
	gap("changes that were pruned")
	w.read(t)
	prune()
	w.add(t, "third")
	w.expect(t, `third {"text":"third"}`)

	w.add(t, "missing")
	w.sql(t, `DELETE FROM "muster_commit"`)
	w.add(t, "fourth")
	gap("changes after removed ones")
	w.read(t)

	w.add(t, "damaged")
	w.sql(t, `UPDATE "muster_commit" SET "keys" = substring("keys" FOR length("keys") - 1)`)
	gap("keys without an end")
	w.read(t)
	before := w.since.Fence.Seq
	w.add(t, "lost")
	w.expect(t, `lost {"text":"lost"}`)

	w.owner.Close() // the database loses a commit, and gives its sequence to another
	w.sql(t, fmt.Sprintf(`DELETE FROM "muster_commit" WHERE "seq" > %d`, before), `DELETE FROM "word" WHERE "key" = 'lost'`,
		fmt.Sprintf(`UPDATE "muster_cell" SET "seq" = %d`, before))
	gap("changes of a state that the database does not have")
	w.owner = openBook(t, w.url, w.cell)
	w.add(t, "other")
	gap("another commit with the sequence")
	w.add(t, "more")
	gap("commits after another one with the sequence")
}

// spoil runs a statement of PL/pgSQL on each row of muster_commit before it is written, until the
// returned function is called.
func (w *watched) spoil(t *testing.T, statement string) (undo func()) {
	t.Helper()
	w.sql(t, `CREATE OR REPLACE FUNCTION "spoil"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN `+statement+`; RETURN NEW; END $$`,
		`CREATE TRIGGER "spoil" BEFORE INSERT ON "muster_commit" FOR EACH ROW EXECUTE FUNCTION "spoil"()`)
	return func() { t.Helper(); w.sql(t, `DROP TRIGGER "spoil" ON "muster_commit"`) }
}

// loggedFollower returns a standby of a cell, and a function that returns what its log says from
// then on until some text.
func loggedFollower(t *testing.T, url, cell string) (next *book, logs func(text string) (said string)) {
	t.Helper()
	out, in := io.Pipe()
	next = newLoggedBook(t, url, cell, slog.New(slog.NewTextHandler(in, nil)))
	found := make(chan string, 1000)
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			found <- lines.Text()
		}
	})
	t.Cleanup(func() { next.Close(); in.Close(); reading.Wait() })
	go next.Follow(t.Context())
	return next, func(text string) (said string) {
		t.Helper()
		for !strings.Contains(said, text) {
			said += wait.Receive(t, fmt.Sprintf("%q in the log", text), found) + "\n"
		}
		return said
	}
}

// TestFollow_Gap: a standby that cannot read a commit, or does not find it, reads everything, and
// follows again.
func TestFollow_Gap(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{"damaged": `NEW."keys" := substring(NEW."keys" FOR 3)`, "missing": `RETURN NULL`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := watch(t)
			next, logs := loggedFollower(t, w.url, w.cell)
			logs("ready to take over")
			undo := w.spoil(t, statement)
			w.add(t, "second")
			logs("the state is read again")
			undo()
			w.add(t, "third")
			wait.For(t, "the state is read", func() error { return next.CheckFollowed(t.Context()) })
			if b := next.Standby(); !b.Warm || b.Err != nil {
				t.Errorf("the standby is %+v", b)
			}
			if err := next.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			logs("the state was in memory")
			if n := next.words.Len(next.View()); n != 3 {
				t.Errorf("%d words, want 3", n)
			}
		})
	}
}

// TestFollow_Newer: a standby that does not know the cell's feature level follows as long as it
// understands what is written, and then reads no state that it could not own, and says why.
func TestFollow_Newer(t *testing.T) {
	t.Parallel()
	w := watch(t)
	next, logs := loggedFollower(t, w.url, w.cell)
	logs("ready to take over")
	w.sql(t, fmt.Sprintf(`UPDATE "muster_schema" SET "version" = %d`, feature.Known()+1))
	w.spoil(t, `NEW."keys" := '\x02'`)
	w.add(t, "second")
	logs("does not follow")
	b := next.Standby()
	if newer, ok := errors.AsType[*feature.Newer](b.Err); b.Warm || !ok || newer.Level != feature.Known()+1 {
		t.Errorf("the standby is %+v", b)
	}
}

// TestFollow: the standby has what the owner commits, takes over without reading it, and is
// followed in turn.
func TestFollow(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	cell := pgtest.Cell(t, url)
	owner := openBook(t, url, cell)
	for round := range 4 {
		next := newBook(t, url, cell)
		if err := next.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		go next.Follow(t.Context())
		for i := range 50 {
			if err := owner.addOnce(t, fmt.Sprint("word ", round, " ", i)); err != nil {
				t.Fatal(err)
			}
		}
		wait.For(t, "the state is read", func() error { // no event reports this
			err := next.CheckFollowed(t.Context())
			if err != nil && !errors.Is(err, store.ErrCold) {
				t.Fatal(err)
			}
			return err
		})
		if err := owner.addOnce(t, "last"); err != nil {
			t.Fatal(err)
		}
		if err := next.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := next.words.Len(next.View()); n != 50*(round+1)+1 {
			t.Errorf("%d words", n)
		}
		if err := next.CheckReload(t.Context()); err != nil {
			t.Error(err)
		}
		if owner.addOnce(t, "ghost") == nil {
			t.Error("the former owner writes")
		}
		owner = next
	}
}

// TestFollow_Unmade: a server that is started together with the first owner of a database waits
// for its tables, which is no reason for a warning.
func TestFollow_Unmade(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	cell := pgtest.Cell(t, url)
	_, logs := loggedFollower(t, url, cell)
	said := logs("when its owner has made them")
	openBook(t, url, cell)
	if said += logs("ready to take over"); strings.Count(said, "level=INFO") != 2 || strings.Count(said, "\n") != 2 {
		t.Errorf("the log says %s", said)
	}
}
