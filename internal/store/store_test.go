package store_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

type ship struct {
	ID    string        `json:"id"`
	Port  string        `json:"port"`
	Crew  []string      `json:"crew"`
	Berth string        `json:"berth"`
	Left  time.Time     `json:"left"`
	Trip  time.Duration `json:"trip"`
}

type sighting struct {
	Ship string `json:"ship"`
	What string `json:"what"`
}

// harbour is a small domain: ships in ports, by crew, with unique berths.
type harbour struct {
	*store.Store
	ships     *store.Table[ship]
	byPort    *store.Index[ship]
	byCrew    *store.Index[ship]
	crews     *store.Sum[ship]
	sightings *store.Log[sighting]
	put       *store.Command[ship, string]
	sail      *store.Command[string, bool]
}

func newHarbour(opts store.Options) *harbour {
	h := &harbour{Store: store.New(opts)}
	h.ships = store.NewTable(h.Store, store.TableSpec[ship]{
		Name: "ship",
		Key:  func(s *ship) string { return s.ID },
		Columns: []store.Column[ship]{
			{Name: "port", Value: func(s *ship) string { return s.Port }},
			{Name: "berth", Value: func(s *ship) string { return s.Berth }, Unique: true},
		},
		Retention: time.Hour,
	})
	h.byPort = store.NewIndex(h.ships, "port", func(s *ship, emit func(string)) { emit(store.Key(s.Port)) })
	h.byCrew = store.NewIndex(h.ships, "crew", func(s *ship, emit func(string)) {
		for _, name := range s.Crew {
			emit(store.Key(name))
		}
	})
	h.crews = store.NewSum(h.ships, "crews", func(s *ship, add func(string, int)) {
		add(s.Port, len(s.Crew))
		add("", len(s.Crew))
	})
	h.sightings = store.NewLog(h.Store, store.LogSpec[sighting]{
		Name:      "sighting",
		Columns:   []store.Column[sighting]{{Name: "ship", Value: func(s *sighting) string { return s.Ship }}},
		Retention: time.Hour,
	})
	h.put = store.NewCommand(h.Store, "ship.put", func(tx *store.Tx, s ship) (string, error) {
		if s.ID == "" {
			s.ID = tx.ID("ship-")
		}
		h.ships.Put(tx, &s)
		h.sightings.Append(tx, &sighting{Ship: s.ID, What: "put"})
		return s.ID, nil
	})
	h.sail = store.NewCommand(h.Store, "ship.sail", func(tx *store.Tx, id string) (bool, error) {
		h.sightings.Append(tx, &sighting{Ship: id, What: "sailed"})
		if !h.ships.Archive(tx, id) {
			return false, errNoShip
		}
		return true, nil
	})
	return h
}

var errNoShip = errors.New("no such ship")

func openHarbour(t *testing.T, opts store.Options) *harbour {
	t.Helper()
	if opts.Driver == nil {
		opts.Driver = store.NewMemory()
	}
	h := newHarbour(opts)
	if err := h.Open(t.Context()); err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// A table is the same in two snapshots if nothing between them changed it, whatever else they
// changed.
func TestTable_Same(t *testing.T) {
	t.Parallel()
	st := store.New(store.Options{Driver: store.NewMemory()})
	key := func(s *ship) string { return s.ID }
	ships, boats := store.NewTable(st, store.TableSpec[ship]{Name: "ship", Key: key}), store.NewTable(st, store.TableSpec[ship]{Name: "boat", Key: key})
	putBoat := store.NewAction(st, "boat.put", func(tx *store.Tx, s ship) error { boats.Put(tx, &s); return nil })
	if err := st.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	before := st.View()
	if err := putBoat.Do(t.Context(), ship{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	after := st.View()
	if !ships.Same(before, after) || boats.Same(before, after) || !boats.Same(after, after) {
		t.Errorf("ships are the same: %t, boats: %t", ships.Same(before, after), boats.Same(before, after))
	}
}

// A server whose clock is years ahead writes entries; the clock of the next one is
// right. Both its entries and the old ones are found by their times.
func TestOpen_AfterAWrongClock(t *testing.T) {
	driver := store.NewMemory()
	ahead := newHarbour(store.Options{Driver: driver})
	if err := ahead.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := ahead.put.Do(t.Context(), ship{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := ahead.Close(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) { // where it is the year 2000
		h := newHarbour(store.Options{Driver: driver})
		if err := h.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		wait.Pass(time.Minute)
		if _, err := h.put.Do(t.Context(), ship{ID: "b"}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			from, to time.Duration
			want     string
		}{{-time.Hour, 0, "a"}, {-time.Second, time.Second, "b"}} {
			now := time.Now()
			found, err := h.sightings.Read(t.Context(), store.LogQuery{From: now.Add(c.from), To: now.Add(c.to), Limit: 9})
			if err != nil || len(found) != 1 || found[0].Value.Ship != c.want {
				t.Errorf("from %v to %v: %v, %v, want that of %s", c.from, c.to, found, err, c.want)
			}
		}
	})
}
