package flexmatch

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

// Each stage of a ticket is reported when it ends. A ticket is matched once, however often others
// decline, and the time of acceptance and placement is no wait for a match. The metric has the same.
func TestStages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		metrics := prometheus.NewRegistry()
		c := newCell(t, store.NewMemory(), Options{Registerer: metrics})
		var mu sync.Mutex
		told := map[string][]string{}
		c.matches.OnStage(func(_ *store.Tx, t *Ticket, ended Stage, took time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			told[t.ID] = append(told[t.ID], fmt.Sprint(ended, " ", took.Round(time.Second)))
		})
		c.Start(c.Computes.Run, c.Sessions.Run, c.places.Run, c.matches.Run)
		defer c.Close()
		c.hosts(2, 3*time.Second)
		c.configure("mm", pairs, Configuration{AcceptanceRequired: true, AcceptanceTimeout: time.Minute})
		c.configure("alone", pairs, Configuration{Mode: Standalone})
		answer := func(ticket, player string, a Answer) {
			c.Must(c.matches.Answer(c.Ctx, AcceptInput{TicketID: ticket, PlayerIDs: []string{player}, Answer: a}))
		}
		c.enter("mm", "a", "ann")
		wait.Settle(5 * time.Second)
		c.enter("mm", "declines", "dan")
		wait.Settle(4 * time.Second)
		answer("a", "ann", Accept)
		answer("declines", "dan", Reject)
		wait.Settle(10 * time.Second)
		c.enter("mm", "b", "bob")
		wait.Settle(time.Second)
		answer("a", "ann", Accept)
		wait.Settle(time.Second)
		answer("b", "bob", Accept)
		wait.Settle(2 * time.Second)
		mu.Lock()
		if want := []string{"match 5s", "accept 2s"}; !slices.Equal(told["a"], want) {
			t.Errorf("while it is placed: %q, want %q", told["a"], want)
		}
		mu.Unlock()
		wait.Settle(2 * time.Second)
		c.want(Completed, "a", "b")
		c.enter("alone", "x", "xenia")
		wait.Settle(2 * time.Second)
		c.enter("alone", "y", "yves")
		wait.Settle(time.Second)
		c.want(Completed, "x", "y")
		want := map[string][]string{
			"a": {"match 5s", "accept 2s", "place 3s"}, "declines": {"match 0s"}, "b": {"match 0s", "accept 2s", "place 3s"},
			"x": {"match 2s"}, "y": {"match 0s"},
		}
		mu.Lock()
		if diff := cmp.Diff(want, told); diff != "" {
			t.Error(diff)
		}
		mu.Unlock()
		families, err := metrics.Gather()
		c.Must(err)
		sums := map[string]string{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "muster_matchmaking_stage_seconds" {
					sums[m.GetLabel()[1].GetValue()] = fmt.Sprintf("%d in %.0f s", m.GetHistogram().GetSampleCount(), m.GetHistogram().GetSampleSum())
				}
			}
		}
		if diff := cmp.Diff(map[string]string{"accept": "2 in 4 s", "place": "2 in 6 s"}, sums); diff != "" {
			t.Error(diff)
		}
	})
}
