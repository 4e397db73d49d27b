package store_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
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

// TestIndex_Due yields what is due to the millisecond, earliest first, and a batch at a time.
func TestIndex_Due(t *testing.T) {
	type row struct {
		ID string
		At time.Time
	}
	st := store.New(store.Options{Driver: store.NewMemory()})
	rows := store.NewTable(st, store.TableSpec[row]{Name: "row", Key: func(r *row) string { return r.ID }})
	due := store.NewDueIndex(rows, "due", func(r *row) time.Time { return r.At })
	put := store.NewAction(st, "put", func(tx *store.Tx, all []row) error {
		for _, r := range all {
			rows.Put(tx, &r)
		}
		return nil
	})
	sweep := store.NewCommand(st, "sweep", func(tx *store.Tx, now time.Time) (n int, _ error) {
		for r := range due.Due(tx, now) {
			rows.Delete(tx, r.ID)
			n++
		}
		return n, nil
	})
	if err := st.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	now := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	if at := due.NextDue(st.View()); !at.IsZero() || due.AnyDue(st.View(), now) {
		t.Errorf("nothing is in the table, and due next is %v", at)
	}
	for id, at := range map[string]time.Duration{"later": time.Millisecond, "now": 0, "before": -time.Millisecond, "long before": -time.Hour, "never": 0} {
		r := row{id, now.Add(at)}
		if id == "never" {
			r.At = time.Time{}
		}
		if err := put.Do(t.Context(), []row{r}); err != nil {
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
	if at, want := due.NextDue(st.View()), now.Add(-time.Hour); !at.Equal(want) {
		t.Errorf("due next is %v, want %v", at, want)
	}
	if !due.AnyDue(st.View(), now.Add(-time.Hour)) || due.AnyDue(st.View(), now.Add(-time.Hour-time.Millisecond)) {
		t.Error("AnyDue must hold from the earliest time on")
	}
	var many []row
	for i := range 2 * store.DueAtOnce {
		many = append(many, row{strconv.Itoa(i), now})
	}
	if err := put.Do(t.Context(), many); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{store.DueAtOnce, store.DueAtOnce, 3, 0} {
		if n, err := sweep.Do(t.Context(), now); n != want || err != nil {
			t.Fatalf("%d rows are handled (%v), want %d", n, err, want)
		}
	}
}
