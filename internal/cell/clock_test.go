package cell_test

import (
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/cell"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
)

// TestCell_WrongClock: a node whose clock is off takes neither a free cell nor that
// of an owner that leaves. It still forwards requests, and a node whose clock is
// right takes the cell.
func TestCell_WrongClock(t *testing.T) {
	for _, off := range []time.Duration{-3 * time.Second, 3 * time.Second, time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			url := pgtest.URL(t)
			wrong := join(t, url, "wrong", func(o *cell.Options) { o.SetClock(func() time.Time { return time.Now().Add(off) }) })
			if wrong.owns() {
				t.Fatal("took a free cell")
			}
			ahead, words := wrong.keeper.Skew()
			if (ahead-off).Abs() > time.Second || !strings.Contains(words, "clock") {
				t.Errorf("the clock is said to be %s ahead: %q", ahead, words)
			}
			right := join(t, url, "right", func(o *cell.Options) { o.SetClock(func() time.Time { return time.Now().Add(-100 * time.Millisecond) }) })
			if !right.owns() {
				t.Fatal("a clock that is 0.1 s behind keeps a node from the cell")
			}
			if body := wrong.served(); !strings.HasPrefix(body, "right ") {
				t.Errorf("asking the node with the wrong clock: %s", body)
			}
			third := join(t, url, "third")
			right.leave()
			if body := third.served(); !strings.HasPrefix(body, "third ") {
				t.Errorf("served after the owner left: %s", body)
			}
			if wrong.owns() {
				t.Error("took the cell of an owner that left")
			}
		})
	}
}

// TestSkew: what an answer that took long reveals about a clock.
func TestSkew(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		took, off time.Duration
		excessive bool
	}{
		{0, 900 * time.Millisecond, false},
		{0, -900 * time.Millisecond, false},
		{0, 1100 * time.Millisecond, true},
		{0, -1100 * time.Millisecond, true},
		{time.Second, 1100 * time.Millisecond, false}, // within the uncertainty of the wait
		{time.Second, 1600 * time.Millisecond, true},
	} {
		if got := cell.Excessive(noon, noon.Add(c.took/2).Add(-c.off), noon.Add(c.took)); got != c.excessive {
			t.Errorf("off by %s after %s: %v", c.off, c.took, got)
		}
	}
}

// A statement that is sent at the lease's end finds it ended, and arrives no later
// than a fraction of a round trip afterwards, however far the database is.
func TestEndOf(t *testing.T) {
	t.Parallel()
	asked := time.Now()
	for _, trip := range []time.Duration{0, time.Millisecond, 500 * time.Millisecond, 3 * time.Second} {
		const left = 2 * time.Second
		ends := asked.Add(trip/2 + left) // at the database
		arrives := cell.EndOf(asked, asked.Add(trip), left).Add(trip / 2)
		if late := arrives.Sub(ends); late < 0 || late > trip/4 {
			t.Errorf("with a round trip of %s it arrives %s after the end, want at once", trip, late)
		}
	}
}
