package supervise_test

import (
	"testing"
	"time"

	"github.com/musterhq/muster/agent/supervise"
)

func TestNext(t *testing.T) {
	t.Parallel()
	const middle = 0.5 // the chance that leaves the delay unchanged
	cases := []struct {
		name    string
		crashes int
		lived   time.Duration
		clean   bool
		chance  float64
		want    supervise.Next
	}{
		{"first crash", 0, time.Second, false, middle, supervise.Next{Crashes: 1, Wait: 2 * time.Second}},
		{"second", 1, time.Second, false, middle, supervise.Next{Crashes: 2, Wait: 4 * time.Second}},
		{"seventh", 6, time.Second, false, middle, supervise.Next{Crashes: 7, Wait: 128 * time.Second}},
		{"eighth is a loop", 7, time.Second, false, middle, supervise.Next{Crashes: 8, Wait: 5 * time.Minute, Loop: true}},
		{"a thousandth still is", 999, 0, false, middle, supervise.Next{Crashes: 1000, Wait: 5 * time.Minute, Loop: true}},
		{"little chance", 0, 0, false, 0, supervise.Next{Crashes: 1, Wait: 1600 * time.Millisecond}},
		{"failed after a minute", 3, time.Minute, false, middle, supervise.Next{Crashes: 3}},
		{"failed after ten", 3, 10 * time.Minute, false, middle, supervise.Next{}},
		{"a short game", 3, 20 * time.Second, true, middle, supervise.Next{}},
		{"ended at once", 3, time.Second, true, middle, supervise.Next{Crashes: 4, Wait: 16 * time.Second}},
	}
	for _, c := range cases {
		if got := (supervise.Restart{}).Next(c.crashes, c.lived, c.clean, c.chance); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
	if got := (supervise.Restart{LoopAfter: 1000}).Next(500, 0, false, middle).Wait; got != 300*time.Second {
		t.Errorf("the delay is %v, want the limit of 5 minutes", got)
	}
}
