package storetest

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/musterhq/muster/internal/store"
)

// everything writes one row of each kind, in two commits.
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
			it.Seq = 0 // only Verify uses it; not every driver stores it
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

// testSchemaGrows opens the cell with a program that has more columns.
func testSchemaGrows(t *testing.T, b *bench) {
	everything(t, b)
	if err := b.db.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.db.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := b.driver.Open(t.Context(), b.cell, largerSchema())
	if err != nil {
		t.Fatalf("Open with more columns: %v", err)
	}
	defer db.Close()
	if grown, err := db.Grown(t.Context()); !grown || err != nil {
		t.Errorf("Grown = %v, %v", grown, err)
	}
	fillColumns(t, db)
	if err := db.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if grown, err := db.Grown(t.Context()); grown || err != nil {
		t.Errorf("Grown after Settle = %v, %v", grown, err)
	}
	findsByNewColumns(t, db)
	b.db = db
	if err := db.Commit(t.Context(), b.batch([]store.TableBatch{{Table: plain, Puts: []store.StoredRow{row("c", "va")}}})); err == nil {
		t.Error("the new unique rule does not hold for old rows")
	}
}

// largerSchema has an additional column in each table and in the log.
func largerSchema() store.Schema {
	larger := schema()
	larger.Tables[plain].Columns = []store.ColumnSchema{{Name: "name", Unique: true}}
	larger.Tables[order].Columns = append(larger.Tables[order].Columns, store.ColumnSchema{Name: "user"})
	larger.Logs[0].Columns = append(larger.Logs[0].Columns, store.ColumnSchema{Name: "user"})
	return larger
}

// fillColumns sets the new column of each row: v and its key.
func fillColumns(t *testing.T, db store.DB) {
	t.Helper()
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
}

func findsByNewColumns(t *testing.T, db store.DB) {
	t.Helper()
	docs, err := db.Archived(t.Context(), order, store.Query{Where: []store.Eq{{Column: "user", Value: "vold"}}, OrderBy: "key", Limit: 9})
	if err != nil || len(docs) != 1 {
		t.Errorf("archived by the new column: %d rows, %v", len(docs), err)
	}
	entries, err := db.Entries(t.Context(), 0, store.LogQuery{Where: []store.Eq{{Column: "user", Value: "v"}}, Limit: 9})
	if err != nil || len(entries) != 1 {
		t.Errorf("entries by the new column: %d, %v", len(entries), err)
	}
}
