package store

import "testing"

// A lone caller beside a long computation waits for few yields; callers that join again
// are gathered soon.
func TestYields(t *testing.T) {
	t.Parallel()
	var y yields
	tried := 0
	for range 1000 {
		if y.due() {
			tried++
			y.tried(false)
		}
	}
	if tried > 25 {
		t.Errorf("%d of 1,000 wakes yielded in vain", tried)
	}
	for n := 0; !y.due(); n++ {
		if n == mostSkipped {
			t.Fatalf("no yield after %d wakes", n)
		}
	}
	y.tried(true)
	for n := range 1000 {
		if !y.due() {
			t.Fatalf("no yield at wake %d although each one paid", n)
		}
		y.tried(true)
	}
}
