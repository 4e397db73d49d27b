package store_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/musterhq/muster/internal/store"
)

// On one processor, callers that can run join a group before it is committed: the journal
// does not commit the first one's command alone.
func TestGroup_OneProcessor(t *testing.T) { // not parallel: it sets the number of processors for all
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	driver, h := openFlaky(t, store.Options{})
	commits := 0
	driver.set(func(do func() error) error {
		commits++
		return do()
	})
	const callers, rounds = 64, 20
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for range rounds {
				if _, err := h.put.Do(t.Context(), ship{ID: fmt.Sprint("ship-", i)}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if most := callers * rounds / 8; commits > most {
		t.Errorf("%d commands of %d callers took %d commits, want at most %d", callers*rounds, callers, commits, most)
	}
}
