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
	"github.com/jackc/pgx/v5"

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
	if w.since, err = db.Load(t.Context(), func(int, string, []byte) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *watched) add(t *testing.T, text string) {
	t.Helper()
	if err := w.owner.addOnce(t, text); err != nil {
		t.Fatal(err)
	}
}

// sql runs a statement in the cell's schema.
func (w *watched) sql(t *testing.T, text string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `SET search_path TO "muster_`+w.cell+`"`); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), text, args...); err != nil {
		t.Fatal(err)
	}
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
	openBook(t, w.url, w.cell) // another owner changes nothing
	w.expect(t)
}

// TestChanges_Pruned: who was away for too long has to read everything.
func TestChanges_Pruned(t *testing.T) {
	t.Parallel()
	w := watch(t)
	w.add(t, "second")
	w.add(t, "third")
	if _, err := w.db.Prune(t.Context(), store.Pruning{Now: time.Now().Add(time.Hour), Before: make([]time.Time, 9), Rows: 10}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.changes(t); !errors.Is(err, store.ErrGap) {
		t.Fatalf("changes that were removed: %v", err)
	}
	var err error
	if w.since, err = w.db.Load(t.Context(), func(int, string, []byte) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := w.db.Prune(t.Context(), store.Pruning{Now: time.Now().Add(time.Hour), Before: make([]time.Time, 9), Rows: 10}); err != nil {
		t.Fatal(err)
	}
	w.add(t, "fourth")
	w.expect(t, `fourth {"text":"fourth"}`)
}

// TestChanges_Lost: a database that lost commits gives their sequences to others.
func TestChanges_Lost(t *testing.T) {
	t.Parallel()
	w := watch(t)
	before := w.since
	w.add(t, "lost")
	w.expect(t, `lost {"text":"lost"}`)
	w.owner.Close()
	w.sql(t, `DELETE FROM "muster_commit" WHERE "seq" > $1`, int64(before.Fence.Seq))
	w.sql(t, `DELETE FROM "word" WHERE "key" = 'lost'`)
	w.sql(t, `UPDATE "muster_cell" SET "seq" = $1`, int64(before.Fence.Seq))
	if _, err := w.changes(t); !errors.Is(err, store.ErrGap) {
		t.Fatalf("a state that the database does not have: %v", err)
	}
	w.owner = openBook(t, w.url, w.cell)
	w.add(t, "other")
	if _, err := w.changes(t); !errors.Is(err, store.ErrGap) {
		t.Fatalf("another commit with the sequence: %v", err)
	}
	w.add(t, "more")
	if _, err := w.changes(t); !errors.Is(err, store.ErrGap) {
		t.Fatalf("commits after another one with the sequence: %v", err)
	}
}

// TestChanges_Missing: who does not find a commit has to read everything.
func TestChanges_Missing(t *testing.T) {
	t.Parallel()
	w := watch(t)
	w.add(t, "second")
	w.sql(t, `DELETE FROM "muster_commit"`)
	w.add(t, "third")
	if _, err := w.changes(t); !errors.Is(err, store.ErrGap) {
		t.Fatalf("changes after removed ones: %v", err)
	}
}

// TestChanges_Damaged: who finds keys that are not all there has to read everything.
func TestChanges_Damaged(t *testing.T) {
	t.Parallel()
	w := watch(t)
	w.add(t, "second")
	w.sql(t, `UPDATE "muster_commit" SET "keys" = substring("keys" FOR length("keys") - 1)`)
	if rows, err := w.changes(t); !errors.Is(err, store.ErrGap) {
		t.Fatalf("keys without an end are read as %v, %v", rows, err)
	}
	var err error
	if w.since, err = w.db.Load(t.Context(), func(int, string, []byte) error { return nil }); err != nil {
		t.Fatal(err)
	}
	w.add(t, "third")
	w.expect(t, `third {"text":"third"}`)
}

// spoil runs a statement of PL/pgSQL on each row of muster_commit before it is written, until the
// returned function is called.
func (w *watched) spoil(t *testing.T, statement string) (undo func()) {
	t.Helper()
	w.sql(t, `CREATE OR REPLACE FUNCTION "spoil"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN `+statement+`; RETURN NEW; END $$`)
	w.sql(t, `CREATE TRIGGER "spoil" BEFORE INSERT ON "muster_commit" FOR EACH ROW EXECUTE FUNCTION "spoil"()`)
	return func() { t.Helper(); w.sql(t, `DROP TRIGGER "spoil" ON "muster_commit"`) }
}

// loggedFollower returns a standby of the cell, and a function that waits until its log has a
// line with some text.
func (w *watched) loggedFollower(t *testing.T) (next *book, logs func(text string)) {
	t.Helper()
	out, in := io.Pipe()
	next = newLoggedBook(t, w.url, w.cell, slog.New(slog.NewTextHandler(in, nil)))
	found := make(chan string, 1000)
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			found <- lines.Text()
		}
	})
	t.Cleanup(func() { next.Close(); in.Close(); reading.Wait() })
	go next.Follow(t.Context())
	return next, func(text string) {
		t.Helper()
		for !strings.Contains(wait.Receive(t, fmt.Sprintf("%q in the log", text), found), text) {
		}
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
			next, logs := w.loggedFollower(t)
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
	next, logs := w.loggedFollower(t)
	logs("ready to take over")
	w.sql(t, `UPDATE "muster_schema" SET "version" = $1`, int64(feature.Known())+1)
	w.spoil(t, `NEW."keys" := '\x02'`)
	w.add(t, "second")
	logs("does not follow")
	b := next.Standby()
	if newer, ok := errors.AsType[*feature.Newer](b.Err); b.Warm || !ok || newer.Level != feature.Known()+1 {
		t.Errorf("the standby is %+v", b)
	}
}

// TestChanges_Refused: what a former owner would have committed is told to no standby.
func TestChanges_Refused(t *testing.T) {
	t.Parallel()
	w := watch(t)
	next := openBook(t, w.url, w.cell)
	if err := w.owner.addOnce(t, "ghost"); err == nil {
		t.Error("the former owner writes")
	}
	w.expect(t)
	if err := next.addOnce(t, "second"); err != nil {
		t.Fatal(err)
	}
	w.expect(t, `second {"text":"second"}`)
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
		wait.For(t, "the state is read", func() error { // nothing tells of this
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
	out, in := io.Pipe()
	lines := bufio.NewScanner(out)
	next := newLoggedBook(t, url, cell, slog.New(slog.NewTextHandler(in, nil)))
	t.Cleanup(func() { out.Close() }) // before the store is closed
	go next.Follow(t.Context())
	for n, want := range []string{"when its owner has made them", "ready to take over"} {
		if !lines.Scan() || !strings.Contains(lines.Text(), "level=INFO") || !strings.Contains(lines.Text(), want) {
			t.Fatalf("the log says %q, want %q", lines.Text(), want)
		}
		if n == 0 {
			openBook(t, url, cell)
		}
	}
}
