package flexmatch

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/musterhq/muster/internal/store"
)

// TestMatcher_IsAskedWhileItMatches reads the counts of a ticket from another goroutine
// during a pass, as happens when a ticket ends. The race detector reports unguarded use
// of the pool.
func TestMatcher_IsAskedWhileItMatches(t *testing.T) {
	c := newCell(t, store.NewMemory(), Options{})
	defer c.Close()
	c.configure("mm", pairs, Configuration{Mode: Standalone})
	c.enter("mm", "waits", "wil")
	ctx, stop := context.WithCancel(c.Ctx)
	defer stop()
	begun := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		close(begun)
		for ctx.Err() == nil {
			c.matches.matchers.of("mm").counts("waits")
		}
	})
	<-begun
	m := c.matches.matchers.of("mm")
	for i := range 200 {
		a, b := fmt.Sprint("a", i), fmt.Sprint("b", i)
		c.enter("mm", a, a)
		c.enter("mm", b, b)
		if _, err := m.cycle(c.Ctx); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	asking.Wait()
	matched := 0
	for ticket := range c.matches.t.tickets.All(c.Store.View()) {
		if ticket.Status == Completed {
			matched++
		}
	}
	if matched != 400 {
		t.Errorf("%d tickets are COMPLETED, want 400 of 401", matched)
	}
}
