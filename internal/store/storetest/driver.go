package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/musterhq/muster/internal/store"
)

// Opened gives a driver and the cell to use on it. Each call starts empty.
type Opened func(t *testing.T) (driver store.Driver, cell string)

// TestDriver runs the suite that every driver passes.
func TestDriver(t *testing.T, open Opened) {
	for name, test := range map[string]func(*testing.T, *bench){
		"CommitThenLoad":     testCommitThenLoad,
		"StaleFence":         testStaleFence,
		"Renew":              testRenew,
		"UniqueValue":        testUniqueValue,
		"OddTexts":           testOddTexts,
		"ArchiveQueries":     testArchiveQueries,
		"LogQueries":         testLogQueries,
		"Prune":              testPrune,
		"DumpAndFill":        testDumpAndFill,
		"FillRefusesRows":    testFillRefusesRows,
		"InspectBesideOwner": testInspectBesideOwner,
		"LargeBatch":         testLargeBatch,
		"SchemaGrows":        testSchemaGrows,
	} {
		t.Run(name, func(t *testing.T) {
			driver, cell := open(t)
			b := &bench{driver: driver, cell: cell, open: open}
			b.db = b.connect(t)
			b.fence = take(t, b.db, "first")
			test(t, b)
		})
	}
}

// bench is a cell opened at the drivers' level, with its fence.
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

// batch makes a batch that moves the fence by one.
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

// rows lists the live rows as table/key=document, and the state.
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
	// Two rows exchange their values: what gives up a value is deleted first.
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

func testArchiveQueries(t *testing.T, b *bench) {
	var ended []store.StoredRow
	for i := range 10 {
		ended = append(ended, row(fmt.Sprintf("k%d", i), fmt.Sprintf("g%d", i%3), ""))
	}
	b.commit(t, []store.TableBatch{{Table: order, Puts: []store.StoredRow{row("k3", "g0", "p")}}})
	b.commit(t, []store.TableBatch{{Table: order, Deletes: []string{"k3"}, Archives: ended}})
	for _, c := range []struct {
		query store.Query
		want  string
	}{
		{store.Query{OrderBy: "key", Limit: 3}, "k0 k1 k2"},
		{store.Query{OrderBy: "key", Limit: 3, AfterKey: "k2"}, "k3 k4 k5"},
		{store.Query{OrderBy: "key", Limit: 3, Desc: true, AfterKey: "k2"}, "k1 k0"},
		{store.Query{OrderBy: "key", Limit: 9, From: "k2", To: "k5"}, "k2 k3 k4"},
		{store.Query{OrderBy: "key", Limit: 9, Where: []store.Eq{{Column: "group", Value: "g1"}}}, "k1 k4 k7"},
		{store.Query{OrderBy: "key", Limit: 9, Where: []store.Eq{{Column: "key", Value: "k4"}}}, "k4"},
		{store.Query{OrderBy: "group", Limit: 5}, "k0 k3 k6 k9 k1"},
		{store.Query{OrderBy: "group", Limit: 3, AfterOrder: "g0", AfterKey: "k9"}, "k1 k4 k7"},
		{store.Query{OrderBy: "group", Limit: 4, Desc: true, AfterOrder: "g2", AfterKey: "k5"}, "k2 k7 k4 k1"},
		{store.Query{OrderBy: "group", Limit: 9, From: "g2"}, "k2 k5 k8"},
		{store.Query{OrderBy: "group", Limit: 9, Where: []store.Eq{{Column: "group", Value: "none"}}}, ""},
	} {
		docs, err := b.db.Archived(t.Context(), order, c.query)
		var got []string
		for _, doc := range docs {
			got = append(got, strings.Trim(string(doc[5:]), `:"}`))
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%+v = %q, %v, want %q", c.query, got, err, c.want)
		}
	}
}

func testLogQueries(t *testing.T, b *bench) {
	var entries []store.StoredEntry
	for i := range 10 {
		entries = append(entries, store.StoredEntry{Seq: uint64(i + 1), Time: noon.Add(time.Duration(i) * time.Second),
			Doc: []byte(`{}`), Columns: []string{fmt.Sprintf("t%d", i%2)}})
	}
	b.commit(t, nil, store.LogBatch{Entries: entries[:4]})
	b.commit(t, nil, store.LogBatch{Entries: entries[4:]})
	for _, c := range []struct {
		query store.LogQuery
		want  string
	}{
		{store.LogQuery{Limit: 3}, "[1 2 3]"},
		{store.LogQuery{Limit: 3, AfterSeq: 8}, "[9 10]"},
		{store.LogQuery{Limit: 3, Desc: true}, "[10 9 8]"},
		{store.LogQuery{Limit: 3, Desc: true, AfterSeq: 3}, "[2 1]"},
		{store.LogQuery{Limit: 9, From: noon.Add(2 * time.Second), To: noon.Add(5 * time.Second)}, "[3 4 5]"},
		{store.LogQuery{Limit: 3, Where: []store.Eq{{Column: "topic", Value: "t1"}}}, "[2 4 6]"},
	} {
		found, err := b.db.Entries(t.Context(), 0, c.query)
		var got []uint64
		for _, e := range found {
			got = append(got, e.Seq)
			if want := entries[e.Seq-1]; !e.Time.Equal(want.Time) || string(e.Doc) != `{}` {
				t.Errorf("entry %d = %v %s", e.Seq, e.Time, e.Doc)
			}
		}
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%+v = %v, %v, want %s", c.query, got, err, c.want)
		}
	}
}

func testPrune(t *testing.T, b *bench) {
	late := row("late", "", "")
	late.Time = noon.Add(time.Minute)
	b.commit(t, []store.TableBatch{{Table: order, Archives: []store.StoredRow{row("a", "", ""), row("b", "", ""), late}}},
		store.LogBatch{Entries: []store.StoredEntry{
			{Seq: 1, Time: noon, Doc: []byte(`1`), Columns: []string{""}},
			{Seq: 2, Time: late.Time, Doc: []byte(`2`), Columns: []string{""}}}})
	for _, c := range []struct {
		at          time.Time
		limit, want int
	}{
		{noon.Add(retention - time.Second), 9, 0},
		{noon.Add(retention), 2, 2},
		{noon.Add(retention), 9, 1},
		{noon.Add(retention), 9, 0},
	} {
		if n, err := b.db.Prune(t.Context(), c.at, c.limit); err != nil || n != c.want {
			t.Errorf("Prune at %v, limit %d = %d, %v, want %d", c.at, c.limit, n, err, c.want)
		}
	}
	docs, err := b.db.Archived(t.Context(), order, store.Query{OrderBy: "key", Limit: 9})
	if err != nil || len(docs) != 1 {
		t.Errorf("archived rows left: %d, %v", len(docs), err)
	}
	entries, err := b.db.Entries(t.Context(), 0, store.LogQuery{Limit: 9})
	if err != nil || len(entries) != 1 || entries[0].Seq != 2 {
		t.Errorf("entries left: %v, %v", entries, err)
	}
	if _, state := rows(t, b.db); state.Last[0] != 2 {
		t.Errorf("last number after pruning = %d", state.Last[0])
	}
}

// everything is one row of each kind, in two commits.
func everything(t *testing.T, b *bench) {
	b.commit(t, []store.TableBatch{{Table: plain, Puts: []store.StoredRow{row("a"), row("b\x00")}},
		{Table: order, Puts: []store.StoredRow{row("o", "g", "p1"), row("n", "", "")}}})
	b.commit(t, []store.TableBatch{{Table: order, Archives: []store.StoredRow{row("old", "g", "p0")}}},
		store.LogBatch{Entries: []store.StoredEntry{{Seq: 3, Time: noon, Doc: []byte(`{"n":3}`), Columns: []string{"x"}}}})
}

func dump(t *testing.T, db store.DB) ([]store.Item, store.State) {
	t.Helper()
	var items []store.Item
	state, err := db.Dump(t.Context(), func(it store.Item) error {
		if it.Place == store.Live {
			it.Seq = 0 // of interest to Verify alone; not every driver keeps it
		}
		items = append(items, it)
		return nil
	})
	if err != nil {
		t.Fatalf("Dump: %v", err)
	}
	return items, state
}

func testDumpAndFill(t *testing.T, b *bench) {
	everything(t, b)
	want, state := dump(t, b.db)
	if len(want) != 6 {
		t.Fatalf("dumped %d items, want 6", len(want))
	}
	driver, cell := b.open(t)
	other := &bench{driver: driver, cell: cell}
	db := other.connect(t)
	err := db.Fill(t.Context(), func(add func(store.Item) error) (store.State, error) { return b.db.Dump(t.Context(), add) })
	if err != nil {
		t.Fatalf("Fill: %v", err)
	}
	got, gotState := dump(t, db)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(state, gotState); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

func testFillRefusesRows(t *testing.T, b *bench) {
	everything(t, b)
	before, _ := dump(t, b.db)
	err := b.db.Fill(t.Context(), func(func(store.Item) error) (store.State, error) {
		return store.State{Last: []uint64{0}}, nil
	})
	if !errors.Is(err, store.ErrNotEmpty) {
		t.Errorf("Fill of a cell with rows: %v", err)
	}
	driver, cell := b.open(t)
	empty := (&bench{driver: driver, cell: cell}).connect(t)
	broken := errors.New("source broke")
	err = empty.Fill(t.Context(), func(add func(store.Item) error) (store.State, error) {
		return store.State{}, errors.Join(add(before[0]), broken)
	})
	if !errors.Is(err, broken) {
		t.Errorf("Fill from a broken source: %v", err)
	}
	if got, _ := dump(t, empty); len(got) != 0 {
		t.Errorf("a broken Fill left %v", got)
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

// testSchemaGrows opens the cell with a program that has more columns.
func testSchemaGrows(t *testing.T, b *bench) {
	everything(t, b)
	if err := b.db.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.db.Close(); err != nil {
		t.Fatal(err)
	}
	larger := schema()
	larger.Tables[plain].Columns = []store.ColumnSchema{{Name: "name", Unique: true}}
	larger.Tables[order].Columns = append(larger.Tables[order].Columns, store.ColumnSchema{Name: "user"})
	larger.Logs[0].Columns = append(larger.Logs[0].Columns, store.ColumnSchema{Name: "user"})
	db, err := b.driver.Open(t.Context(), b.cell, larger)
	if err != nil {
		t.Fatalf("Open with more columns: %v", err)
	}
	defer db.Close()
	if grown, err := db.Grown(t.Context()); !grown || err != nil {
		t.Errorf("Grown = %v, %v", grown, err)
	}
	var items []store.Item
	fill := func(it store.Item) error {
		before := 2 // columns of an order in the smaller schema
		switch {
		case it.Place == store.LogPart:
			before = 1
		case it.Number == plain:
			before = 0
		}
		it.Columns = append(slices.Clone(it.Columns[:before]), "v"+it.Key)
		items = append(items, it)
		return nil
	}
	if _, err := db.Dump(t.Context(), fill); err != nil {
		t.Fatal(err)
	}
	if err := db.SetColumns(t.Context(), items); err != nil {
		t.Fatalf("SetColumns: %v", err)
	}
	if err := db.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if grown, err := db.Grown(t.Context()); grown || err != nil {
		t.Errorf("Grown after Settle = %v, %v", grown, err)
	}
	docs, err := db.Archived(t.Context(), order, store.Query{Where: []store.Eq{{Column: "user", Value: "vold"}}, OrderBy: "key", Limit: 9})
	if err != nil || len(docs) != 1 {
		t.Errorf("archived by the new column: %d rows, %v", len(docs), err)
	}
	entries, err := db.Entries(t.Context(), 0, store.LogQuery{Where: []store.Eq{{Column: "user", Value: "v"}}, Limit: 9})
	if err != nil || len(entries) != 1 {
		t.Errorf("entries by the new column: %d, %v", len(entries), err)
	}
	b.db = db
	if err := db.Commit(t.Context(), b.batch([]store.TableBatch{{Table: plain, Puts: []store.StoredRow{row("c", "va")}}})); err == nil {
		t.Error("the new unique rule does not hold for old rows")
	}
}
