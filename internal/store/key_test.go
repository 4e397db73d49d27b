package store_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// TestTimeKey compares keys of times with the documented layout.
func TestTimeKey(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	first := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	last := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	zone := time.FixedZone("", -5*60*60)
	for i := range 10000 {
		at := time.UnixMilli(first + rng.Int64N(last-first)).Add(time.Duration(rng.IntN(1e6))).In(zone)
		if i == 0 {
			at = time.Time{}
		}
		if got, want := store.TimeKey(at), at.UTC().Format("2006-01-02T15:04:05.000Z"); got != want {
			t.Fatalf("TimeKey(%v) = %s, want %s", at, got, want)
		}
	}
}

func BenchmarkTimeKey(b *testing.B) {
	at := time.Now()
	for b.Loop() {
		store.TimeKey(at)
	}
}

// TestIndex_Due yields what is due to the millisecond, earliest first.
func TestIndex_Due(t *testing.T) {
	type row struct {
		ID string
		At time.Time
	}
	st := store.New(store.Options{Driver: store.NewMemory()})
	rows := store.NewTable(st, store.TableSpec[row]{Name: "row", Key: func(r *row) string { return r.ID }})
	due := store.NewIndex(rows, "due", func(r *row, emit func(string)) { emit(store.TimeKey(r.At)) })
	put := store.NewCommand(st, "put", func(tx *store.Tx, r row) (struct{}, error) { rows.Put(tx, &r); return struct{}{}, nil })
	if err := st.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	now := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	for id, at := range map[string]time.Duration{"later": time.Millisecond, "now": 0, "before": -time.Millisecond, "long before": -time.Hour} {
		if _, err := put.Do(t.Context(), row{id, now.Add(at)}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for r := range due.Due(st.View(), now) {
		got = append(got, r.ID)
	}
	if want := []string{"long before", "before", "now"}; !slices.Equal(got, want) {
		t.Errorf("due are %q, want %q", got, want)
	}
}
