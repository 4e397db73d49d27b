package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/musterhq/muster/internal/feature"
	"github.com/musterhq/muster/internal/store"
)

// Opened returns a driver and the cell to use on it. Each call starts empty.
type Opened func(t *testing.T) (driver store.Driver, cell string)

// TestDriver runs the suite that every driver must pass.
func TestDriver(t *testing.T, open Opened) {
	for name, test := range map[string]func(*testing.T, *bench){
		"CommitThenLoad":     testCommitThenLoad,
		"StaleFence":         testStaleFence,
		"Renew":              testRenew,
		"UniqueValue":        testUniqueValue,
		"OddTexts":           testOddTexts,
		"ArchiveQueries":     testArchiveQueries,
		"ArchivedKeys":       testArchivedKeys,
		"ArchivedAgain":      testArchivedAgain,
		"LogQueries":         testLogQueries,
		"LogTimes":           testLogTimes,
		"SetBack":            testSetBack,
		"Prune":              testPrune,
		"Week":               testWeek,
		"DumpAndFill":        testDumpAndFill,
		"FillRefusesRows":    testFillRefusesRows,
		"InspectBesideOwner": testInspectBesideOwner,
		"LargeBatch":         testLargeBatch,
		"SchemaGrows":        testSchemaGrows,
		"Level":              testLevel,
	} {
		t.Run(name, func(t *testing.T) { test(t, opened(t, open)) })
	}
}

func opened(t *testing.T, open Opened) *bench {
	driver, cell := open(t)
	b := &bench{driver: driver, cell: cell, open: open}
	b.db = b.connect(t)
	b.fence = take(t, b.db, "first")
	return b
}

// bench is a cell opened at the level of drivers, with its fence.
type bench struct {
	driver store.Driver
	cell   string
	open   Opened
	db     store.DB
	fence  store.Fence
}

const retention = time.Hour

func schema() store.Schema {
	return store.Schema{
		Tables: []store.TableSchema{
			{Name: "plain"},
			{Name: "order", Retention: retention, Columns: []store.ColumnSchema{{Name: "group"}, {Name: "place", Unique: true}}},
		},
		Logs: []store.LogSchema{{Name: "note", Columns: []store.ColumnSchema{{Name: "topic"}}, Retention: retention}},
	}
}

const (
	plain = iota
	order
)

func (b *bench) connect(t *testing.T) store.DB {
	t.Helper()
	db, err := b.driver.Open(t.Context(), b.cell, schema())
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func take(t *testing.T, db store.DB, owner string) store.Fence {
	t.Helper()
	fence, err := db.Take(t.Context(), owner)
	if err != nil {
		t.Fatalf("Take: %v", err)
	}
	return fence
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 5e6, time.UTC)

// batch returns a batch that advances the fence by one.
func (b *bench) batch(tables []store.TableBatch, logs ...store.LogBatch) *store.Batch {
	return &store.Batch{Fence: b.fence, Seq: b.fence.Seq + 1, Now: noon, Tables: tables, Logs: logs}
}

func (b *bench) commit(t *testing.T, tables []store.TableBatch, logs ...store.LogBatch) {
	t.Helper()
	batch := b.batch(tables, logs...)
	if err := b.db.Commit(t.Context(), batch); err != nil {
		t.Fatalf("Commit: %v", err)
	}
	b.fence.Seq = batch.Seq
}

func row(key string, columns ...string) store.StoredRow {
	id, err := jsontext.AppendQuote(nil, key)
	if err != nil {
		panic(err)
	}
	return store.StoredRow{Key: key, Doc: fmt.Appendf(nil, `{"id":%s}`, id), Columns: columns, Time: noon}
}

// rows returns the live rows as table/key=document, and the state.
func rows(t *testing.T, db store.DB) (map[string]string, store.State) {
	t.Helper()
	got := map[string]string{}
	state, err := db.Load(t.Context(), func(table int, key string, doc []byte) error {
		got[fmt.Sprintf("%d/%s", table, key)] = string(doc)
		return nil
	})
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return got, state
}

func testCommitThenLoad(t *testing.T, b *bench) {
	b.commit(t, []store.TableBatch{
		{Table: plain, Puts: []store.StoredRow{row("a"), row("b"), row("c")}},
		{Table: order, Puts: []store.StoredRow{row("o", "g", "p1")}},
	}, store.LogBatch{Log: 0, Entries: []store.StoredEntry{{Seq: 7, Time: noon, Doc: []byte(`1`), Columns: []string{"x"}}}})
	changed := store.StoredRow{Key: "b", Doc: []byte(`{"id":"b","n":2}`)}
	b.commit(t, []store.TableBatch{{Table: plain, Deletes: []string{"a", "never"}, Puts: []store.StoredRow{changed}}})
	got, state := rows(t, b.db)
	want := map[string]string{"0/b": `{"id":"b","n":2}`, "0/c": `{"id":"c"}`, "1/o": `{"id":"o"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	state.Mark = 0 // each driver gives its own
	if diff := cmp.Diff(store.State{Fence: b.fence, Now: noon, Last: []uint64{7}}, state); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

func testStaleFence(t *testing.T, b *bench) {
	b.commit(t, []store.TableBatch{{Table: plain, Puts: []store.StoredRow{row("a")}}})
	next := take(t, b.db, "second")
	if next.Epoch != b.fence.Epoch+1 || next.Seq != b.fence.Seq {
		t.Errorf("second fence %+v after %+v", next, b.fence)
	}
	put := []store.TableBatch{{Table: plain, Puts: []store.StoredRow{row("z")}}}
	stale := b.batch(put)
	if err := b.db.Commit(t.Context(), stale); !errors.Is(err, store.ErrFenced) {
		t.Errorf("commit with a stale epoch: %v", err)
	}
	b.fence = next
	b.fence.Seq = 40
	if err := b.db.Commit(t.Context(), b.batch(put)); !errors.Is(err, store.ErrFenced) {
		t.Errorf("commit with a wrong sequence: %v", err)
	}
	if got, _ := rows(t, b.db); len(got) != 1 {
		t.Errorf("refused commits left %v", got)
	}
	b.fence = next
	b.commit(t, put)
}

func testRenew(t *testing.T, b *bench) {
	fence, err := b.db.Renew(t.Context(), "first")
	if err != nil || fence.Epoch != b.fence.Epoch+1 {
		t.Fatalf("Renew = %+v, %v", fence, err)
	}
	if err := b.db.Commit(t.Context(), b.batch(nil)); !errors.Is(err, store.ErrFenced) {
		t.Errorf("commit under the epoch before: %v", err)
	}
	take(t, b.db, "second")
	if _, err := b.db.Renew(t.Context(), "first"); !errors.Is(err, store.ErrFenced) {
		t.Errorf("Renew after another took the cell: %v", err)
	}
}

func testUniqueValue(t *testing.T, b *bench) {
	b.commit(t, []store.TableBatch{{Table: order, Puts: []store.StoredRow{row("a", "", "p1"), row("b", "", "p2"), row("c", "", ""), row("d", "", "")}}})
	twice := []store.TableBatch{{Table: plain, Puts: []store.StoredRow{row("x")}}, {Table: order, Puts: []store.StoredRow{row("e", "", "p1")}}}
	err := b.db.Commit(t.Context(), b.batch(twice))
	if err == nil || errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrTransient) {
		t.Fatalf("a value used twice: %v", err)
	}
	if got, state := rows(t, b.db); len(got) != 4 || state.Fence != b.fence {
		t.Errorf("the refused batch left %v, %+v", got, state)
	}
	// Two rows exchange their values: rows that give up a value are deleted first.
	b.commit(t, []store.TableBatch{{Table: order, Deletes: []string{"a", "b"}, Puts: []store.StoredRow{row("a", "", "p2"), row("b", "", "p1")}}})
	b.commit(t, []store.TableBatch{{Table: order, Deletes: []string{"a"}, Puts: []store.StoredRow{row("f", "", "p2")}}})
}

func testOddTexts(t *testing.T, b *bench) {
	keys := []string{"nul\x00", "nul\x00\x00b", "one\x01", "quote'\"", "ümlaut", "\x02", "x\x01\x00y"}
	var puts, ended []store.StoredRow
	for _, key := range keys {
		doc := []byte(`"\u0000 ' \" ü"`)
		puts = append(puts, store.StoredRow{Key: key, Doc: doc})
		ended = append(ended, store.StoredRow{Key: key, Doc: doc, Columns: []string{key, ""}, Time: noon})
	}
	b.commit(t, []store.TableBatch{{Table: plain, Puts: puts}, {Table: order, Archives: ended}})
	got, _ := rows(t, b.db)
	for _, key := range keys {
		if got["0/"+key] != `"\u0000 ' \" ü"` {
			t.Errorf("row %q = %q", key, got["0/"+key])
		}
		docs, err := b.db.Archived(t.Context(), order, store.Query{Where: []store.Eq{{Column: "group", Value: key}}, OrderBy: "key", Limit: 9})
		if err != nil || len(docs) != 1 {
			t.Errorf("archived by %q: %d rows, %v", key, len(docs), err)
		}
	}
}

func testInspectBesideOwner(t *testing.T, b *bench) {
	everything(t, b)
	db, err := b.driver.Inspect(context.Background(), b.cell, schema())
	if err != nil {
		t.Fatalf("Inspect: %v", err)
	}
	defer db.Close()
	want, _ := rows(t, b.db)
	if got, _ := rows(t, db); cmp.Diff(want, got) != "" {
		t.Errorf("seen beside the owner: %s", cmp.Diff(want, got))
	}
	b.commit(t, []store.TableBatch{{Table: plain, Deletes: []string{"a"}}})
}

// newer is a level that only tests know.
var newer = feature.Known() + 1

func init() { feature.Extend("v9.0.0") }

// testLevel raises the feature level, which a copy keeps.
func testLevel(t *testing.T, b *bench) {
	level := func(db store.DB, want feature.Level) {
		t.Helper()
		if got, err := db.Level(t.Context()); got != want || err != nil {
			t.Errorf("the level is %d, %v; want %d", got, err, want)
		}
	}
	level(b.db, feature.First)
	for _, to := range []feature.Level{newer, feature.First} { // it never becomes lower
		if err := b.db.Raise(t.Context(), to); err != nil {
			t.Fatal(err)
		}
		level(b.db, newer)
	}
	take(t, b.db, "second")
	level(b.db, newer)
	state, err := b.db.Dump(t.Context(), func(store.Item) error { return nil })
	if err != nil || state.Level != newer {
		t.Errorf("the dump has level %d, %v", state.Level, err)
	}
	driver, cell := b.open(t)
	copied, err := driver.Open(t.Context(), cell, schema())
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	if err := copied.Fill(t.Context(), func(func(store.Item) error) (store.State, error) { return state, nil }); err != nil {
		t.Fatal(err)
	}
	level(copied, newer)
}

func testLargeBatch(t *testing.T, b *bench) {
	var puts []store.StoredRow
	for i := range 1337 {
		puts = append(puts, row(fmt.Sprintf("k%05d", i), "g", fmt.Sprintf("p%d", i)))
	}
	b.commit(t, []store.TableBatch{{Table: order, Puts: puts}})
	if got, _ := rows(t, b.db); len(got) != len(puts) {
		t.Errorf("%d rows, want %d", len(got), len(puts))
	}
}
