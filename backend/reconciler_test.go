package backend

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// holding is a matchmaker with a slow archive: it returns tickets that ended a while ago
// once hold is closed. It counts how many tickets each transaction looks at.
type holding struct {
	Matching
	hold   chan struct{}
	asked  atomic.Int64
	looked map[*store.Tx]int // transactions run one at a time
}

func (m *holding) Ended(ctx context.Context, ticketID string) (*Found, error) {
	m.asked.Add(1)
	select {
	case <-m.hold:
		return m.Matching.Ended(ctx, ticketID)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (m *holding) Look(r store.Reader, ticketID string) *Found {
	if tx, is := r.(*store.Tx); is {
		m.looked[tx]++
	}
	return m.Matching.Look(r, ticketID)
}

// held runs f in virtual time with n tickets that the matchmaker never received, and a
// slow archive; run starts the backend, which receives events, and stop ends it.
func held(t *testing.T, n int, f func(d *deaf, m *holding, lost []string, run func() (stop func()))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := newDeaf(t)
		d.b.opts.Events = d.events
		m := &holding{Matching: d.b.matching, hold: make(chan struct{}), looked: map[*store.Tx]int{}}
		d.b.matching = m
		for _, loop := range d.loops {
			d.stops = append(d.stops, d.run(loop))
		}
		var lost []string
		for i := range n {
			row := Ticket{Matchmaker: "alone", Configuration: "alone", Players: []string{fmt.Sprint("lost", i)}}
			made, err := d.b.cmd.open.Do(d.ctx, openArgs{Ticket: row})
			d.must(err)
			lost = append(lost, made.ID)
		}
		f(d, m, lost, func() (stop func()) { return d.run(d.b.Run) })
		for i := range d.stops {
			d.stops[len(d.stops)-1-i]()
		}
	})
}

// Events are handled without waiting for the reconciler, which does not begin a round
// before the previous one has ended.
func TestReconciler_KeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	held(t, 1, func(d *deaf, m *holding, lost []string, run func() func()) {
		stop := run()
		defer stop()
		synctest.Wait()
		one, two := d.ask("anna", "alone"), d.ask("bert", "alone")
		time.Sleep(time.Second)
		d.wants(one.ID, protocol.TicketStateCompleted)
		d.wants(two.ID, protocol.TicketStateCompleted)
		time.Sleep(10 * reconcileEvery)
		if n := m.asked.Load(); n != 1 {
			t.Errorf("the archive was asked %d times at once, want 1", n)
		}
		d.wants(lost[0], protocol.TicketStateQueued)
		close(m.hold)
		d.wants(lost[0], protocol.TicketStateFailed)
	})
}

// However many rows are open, a transaction has a limited size, and all are looked at in
// one round.
func TestReconciler_WorksInBatches(t *testing.T) {
	t.Parallel()
	held(t, 2*lookAtOnce+1, func(d *deaf, m *holding, lost []string, run func() func()) {
		close(m.hold)
		time.Sleep(lostAfter)
		stop := run()
		for _, id := range lost {
			d.wants(id, protocol.TicketStateFailed)
		}
		stop()
		if len(m.looked) != 3 {
			t.Errorf("%d transactions, want 3", len(m.looked))
		}
		for _, n := range m.looked {
			if n > lookAtOnce {
				t.Errorf("a transaction looks at %d tickets, want at most %d", n, lookAtOnce)
			}
		}
	})
}

// Ending does not wait for the rest of a round.
func TestReconciler_EndsInTheMiddle(t *testing.T) {
	t.Parallel()
	held(t, 3*lookAtOnce, func(d *deaf, m *holding, lost []string, run func() func()) {
		stop := run()
		synctest.Wait()
		stop() // would never return if the round went on
		if n := m.asked.Load(); n > lookAtOnce {
			t.Errorf("the archive is asked %d times though all is over", n)
		}
		d.wants(lost[0], protocol.TicketStateQueued)
	})
}

// All that has expired is deleted in one round, however much it is.
func TestReconciler_ForgetsAll(t *testing.T) {
	t.Parallel()
	held(t, store.DueAtOnce+1, func(d *deaf, m *holding, lost []string, run func() func()) {
		close(m.hold)
		for _, wait := range []time.Duration{lostAfter, ticketKept} {
			time.Sleep(wait)
			stop := run()
			synctest.Wait()
			stop()
		}
		if n := d.b.t.tickets.Len(d.b.st.View()); n != 0 {
			t.Errorf("%d tickets are still kept", n)
		}
	})
}
