package store_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// TestTimeKey holds keys of times against the layout that they are documented with.
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
