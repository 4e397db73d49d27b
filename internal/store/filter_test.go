package store

import (
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// TestFilter_Model compares filters with maps: nothing that was added is missing.
func TestFilter_Model(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f, added := newFilter(), map[string]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				s := rapid.String().Draw(t, "string")
				f.add(s)
				added[s] = true
			},
			"add many": func(t *rapid.T) {
				from := rapid.IntRange(0, 1000).Draw(t, "from")
				for i := range rapid.IntRange(1, 1000).Draw(t, "number") {
					s := fmt.Sprint(from * i)
					f.add(s)
					added[s] = true
				}
			},
		})
		for s := range added {
			if !f.has(s) {
				t.Fatalf("%q was added and is missing among %d", s, len(added))
			}
		}
	})
}

// TestFilter_Others counts strings that seem to have been added. Ten times as many as
// expected would be a fault of the hash's use.
func TestFilter_Others(t *testing.T) {
	t.Parallel()
	f := newFilter()
	for _, n := range []int{0, 1, 2000, 50_000, 400_000} {
		for i := f.added; i < n; i++ {
			f.add(fmt.Sprint("ticket-", i))
		}
		wrong := 0
		for i := range 100_000 {
			if f.has(fmt.Sprint("other-", i)) {
				wrong++
			}
		}
		if n == 0 && wrong > 0 || wrong > 5000 {
			t.Errorf("of 100,000 others %d seem to be among %d", wrong, n)
		}
	}
}

func TestFilter_Concurrent(t *testing.T) {
	t.Parallel()
	f, added := newFilter(), make(chan int, 20_000)
	var looking sync.WaitGroup
	for range 4 {
		looking.Go(func() {
			for i := range added {
				if !f.has(fmt.Sprint(i)) {
					t.Errorf("%d was added and is missing", i)
				}
			}
		})
	}
	for i := range cap(added) {
		f.add(fmt.Sprint(i))
		added <- i
	}
	close(added)
	looking.Wait()
}
