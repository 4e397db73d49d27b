package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// damage changes what a verification reads.
type damage struct {
	*store.Memory
	item  func(store.Item) store.Item
	state func(store.State) store.State
}

func (d *damage) Inspect(ctx context.Context, cell string, schema store.Schema) (store.DB, error) {
	db, err := d.Memory.Inspect(ctx, cell, schema)
	return &damagedDB{DB: db, damage: d}, err
}

type damagedDB struct {
	store.DB
	damage *damage
}

func (db *damagedDB) Dump(ctx context.Context, item func(store.Item) error) (store.State, error) {
	state, err := db.DB.Dump(ctx, func(it store.Item) error {
		if db.damage.item != nil {
			it = db.damage.item(it)
		}
		return item(it)
	})
	if db.damage.state != nil {
		state = db.damage.state(state)
	}
	return state, err
}

func TestVerify_NamesEachProblem(t *testing.T) {
	t.Parallel()
	driver := &damage{Memory: store.NewMemory()}
	h := openHarbour(t, store.Options{Driver: driver})
	must[string](t)(h.put.Do(t.Context(), ship{ID: "a", Port: "Oslo", Berth: "1"}))
	must[string](t)(h.put.Do(t.Context(), ship{ID: "b", Port: "Oslo", Berth: "2"}))
	must[string](t)(h.put.Do(t.Context(), ship{ID: "c", Port: "Kiel"}))
	must[bool](t)(h.sail.Do(t.Context(), "c"))
	report := must[store.Report](t)(h.Verify(t.Context()))
	if len(report.Problems) > 0 || report.Digest != h.View().Digest() || report.Tables[0].Live != 2 ||
		report.Tables[0].Archived != 1 || report.Logs[0].Entries != 4 || report.Fence.Seq != 4 {
		t.Fatalf("report of a sound store: %+v", report)
	}
	for _, c := range []struct {
		want  string
		item  func(it *store.Item)
		state func(*store.State)
	}{
		{want: `decode ship "a"`, item: func(it *store.Item) { it.Doc = []byte(`{"id":`) }},
		{want: `ship "a": its document says key "z"`, item: func(it *store.Item) { it.Doc = []byte(`{"id":"z"}`) }},
		{want: `live ship "a": columns are`, item: func(it *store.Item) { it.Columns = []string{"Rome", "1"} }},
		{want: `share berth "2"`, item: func(it *store.Item) { it.Columns = []string{"Oslo", "2"} }},
		{want: `a row has sequence 99, the cell's is 4`, item: func(it *store.Item) { it.Seq = 99 }},
		{want: `sighting has entry 4, the last number given is 1`, state: func(s *store.State) { s.Last[0] = 1 }},
		{want: `no cell "default"`, item: func(it *store.Item) { it.Seq = 1 }, state: func(s *store.State) { s.Fence = store.Fence{} }},
	} {
		driver.item = func(it store.Item) store.Item {
			if c.item != nil && it.Place == store.Live && it.Key == "a" {
				c.item(&it)
			}
			return it
		}
		driver.state = func(s store.State) store.State {
			if c.state != nil {
				c.state(&s)
			}
			return s
		}
		report := must[store.Report](t)(h.Verify(t.Context()))
		if got := strings.Join(report.Problems, "\n"); !strings.Contains(got, c.want) {
			t.Errorf("problems %q, want one with %q", got, c.want)
		}
	}
}

// TestCheckReload_FindsADifference changes a row behind the store's back, against the
// store's rules: the check is only useful if it notices.
func TestCheckReload_FindsADifference(t *testing.T) {
	t.Parallel()
	h := openHarbour(t, store.Options{})
	must[string](t)(h.put.Do(t.Context(), ship{ID: "a", Port: "Oslo"}))
	if err := h.CheckReload(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.ships.Get(h.View(), "a").Port = "Rome"
	if err := h.CheckReload(t.Context()); err == nil || !strings.Contains(err.Error(), `ship "a"`) {
		t.Errorf("CheckReload = %v", err)
	}
}

func TestPrune_RemovesExpiredRows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := openHarbour(t, store.Options{})
		for i := range 1200 {
			id := fmt.Sprintf("s%04d", i)
			must[string](t)(h.put.Do(t.Context(), ship{ID: id}))
			must[bool](t)(h.sail.Do(t.Context(), id))
		}
		count := func() (int, int) {
			rows := must[[]*ship](t)(h.ships.Archived(t.Context(), store.Query{Limit: 1000}))
			entries := must[[]store.Entry[sighting]](t)(h.sightings.Read(t.Context(), store.LogQuery{Limit: 1000}))
			return len(rows), len(entries)
		}
		wait.Pass(50 * time.Minute)
		if rows, entries := count(); rows != 1000 || entries != 1000 {
			t.Errorf("before their time: %d rows, %d entries", rows, entries)
		}
		wait.Pass(12 * time.Minute)
		synctest.Wait()
		if rows, entries := count(); rows != 0 || entries != 0 {
			t.Errorf("after their time: %d rows, %d entries", rows, entries)
		}
		must[string](t)(h.put.Do(t.Context(), ship{ID: "new"}))
		if got := h.sightings.Last(h.View()); got != 2401 {
			t.Errorf("number after pruning = %d, want 2401", got)
		}
		h.Close()
	})
}

// TestNow_NeverRunsBackwards reopens a store whose last command was later than the
// present time, as after a correction of the clock.
func TestNow_NeverRunsBackwards(t *testing.T) {
	t.Parallel()
	driver := store.NewMemory()
	var last time.Time
	synctest.Test(t, func(t *testing.T) { // a bubble's clock begins in the year 2000
		h := openHarbour(t, store.Options{Driver: driver})
		wait.Pass(20 * time.Second)
		must[string](t)(h.put.Do(t.Context(), ship{ID: "a"}))
		last = time.Now()
		h.Close()
	})
	synctest.Test(t, func(t *testing.T) {
		h := openHarbour(t, store.Options{Driver: driver})
		for range 3 {
			err := h.Update(t.Context(), func(tx *store.Tx) error {
				if tx.Now().Before(last) {
					t.Errorf("Now = %v after %v", tx.Now(), last)
				}
				last = tx.Now()
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			wait.Pass(time.Second)
		}
		h.Close()
	})
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	h := openHarbour(t, store.Options{Registerer: registry})
	must[string](t)(h.put.Do(t.Context(), ship{ID: "a"}))
	must[string](t)(h.put.Do(t.Context(), ship{ID: "b"}))
	want := `
		# HELP muster_store_commits_total Group commits made durable.
		# TYPE muster_store_commits_total counter
		muster_store_commits_total 2
		# HELP muster_store_pending Commands waiting to become durable.
		# TYPE muster_store_pending gauge
		muster_store_pending 0
		# HELP muster_store_rows Live rows in memory.
		# TYPE muster_store_rows gauge
		muster_store_rows{table="ship"} 2
	`
	err := testutil.GatherAndCompare(registry, strings.NewReader(want), "muster_store_commits_total", "muster_store_pending", "muster_store_rows")
	if err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(registry, "muster_store_commit_duration_seconds", "muster_store_batch_commands"); n != 2 || err != nil {
		t.Errorf("%d histograms, %v", n, err)
	}
}

func TestRegistration_Refusals(t *testing.T) {
	t.Parallel()
	key := func(s *ship) string { return s.ID }
	for name, register := range map[string]func(s *store.Store){
		"table twice":    func(s *store.Store) { store.NewTable(s, store.TableSpec[ship]{Name: "taken", Key: key}) },
		"no SQL name":    func(s *store.Store) { store.NewTable(s, store.TableSpec[ship]{Name: "Ship; DROP", Key: key}) },
		"reserved name":  func(s *store.Store) { store.NewTable(s, store.TableSpec[ship]{Name: "muster_cell", Key: key}) },
		"archive's name": func(s *store.Store) { store.NewLog(s, store.LogSpec[ship]{Name: "taken_archive"}) },
		"reserved column": func(s *store.Store) {
			store.NewLog(s, store.LogSpec[ship]{Name: "other", Columns: []store.Column[ship]{{Name: "doc", Value: key}}})
		},
	} {
		s := store.New(store.Options{Driver: store.NewMemory()})
		store.NewTable(s, store.TableSpec[ship]{Name: "taken", Key: key, Retention: time.Hour})
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			register(s)
		}()
	}
}
