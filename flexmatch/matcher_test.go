package flexmatch

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
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

// A ticket that can never be matched is logged when it comes, with the cause; of many such tickets
// only few are.
func TestMatcher_WarnsOfHopelessTickets(t *testing.T) {
	var out strings.Builder
	c := newCell(t, store.NewMemory(), Options{Log: slog.New(slog.NewTextHandler(&out, nil))})
	defer c.Close()
	c.configure("mm", pairs, Configuration{Mode: Standalone})
	m := c.matches.matchers.of("mm")
	for _, players := range [][]string{{"fits"}, {"a", "b", "c"}, {"d", "e", "f"}} {
		c.enter("mm", "of-"+players[0], players...)
		if _, err := m.cycle(c.Ctx); err != nil {
			t.Fatal(err)
		}
	}
	const want = `msg="a matchmaking ticket can never be matched" configuration=mm ticket_id=of-a cause="the party is larger than every team ever may be"`
	if got := out.String(); !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
		t.Errorf("the log has %q, want only %q", got, want)
	}
}
