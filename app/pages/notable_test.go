package pages

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

// What is worth knowing stays in sight however much happens after it, and after a restart.
func TestNotables_Busy(t *testing.T) {
	t.Parallel()
	driver := store.NewMemory()
	check := func(s *studio) {
		t.Helper()
		now := s.pages.Now(Hour)
		at := slices.IndexFunc(now.Notable, func(n Notable) bool { return n.Code == event.ServerProcessCrashed })
		if at < 0 {
			t.Fatalf("the crash is not among %+v", now.Notable)
		}
		if n := now.Notable[at]; n.State != Bad || n.Text != "killed" || n.Times != 2 || n.More || n.To != "/fleets?id=fleet-1" {
			t.Errorf("the crash is %+v", n)
		}
		if n := now.Notable[0]; n.Code != event.MatchmakingTimedOut || n.Times != notableKept || !n.More {
			t.Errorf("the newest is %+v", n)
		}
	}
	inStudio(t, driver, func(s *studio) {
		for range 2 {
			s.happened(event.Event{Code: event.ServerProcessCrashed, FleetID: "fleet-1", Message: "killed"})
		}
		for range 40 { // 2,000 others
			var all []event.Event
			for i := range 50 {
				code := event.PlayerSessionAccepted
				if i%2 == 0 {
					code = event.MatchmakingTimedOut
				}
				all = append(all, event.Event{Code: code})
			}
			wait.Pass(time.Second)
			s.happened(all...)
		}
		check(s)
	})
	inStudio(t, driver, check)
}

// One kind of event displaces no other, and what it is about is shown as far as there is room.
func TestNotables_Lines(t *testing.T) {
	t.Parallel()
	inStudio(t, store.NewMemory(), func(s *studio) {
		s.happened(event.Event{Code: event.HostLost, Resource: "host-1"})
		for i := range 30 {
			wait.Pass(time.Second)
			s.happened(event.Event{Code: event.GameSessionActivationTimeout, GameSessionID: fmt.Sprint("session-", i%10)})
		}
		lines := s.pages.Now(Hour).Notable
		var got []string
		for _, n := range lines {
			got = append(got, fmt.Sprintf("%s %s %d %q", n.State, n.To, n.Times, n.Text))
		}
		want := []string{
			`warn /sessions?id=session-9 3 ""`, `warn /sessions?id=session-8 3 ""`, `warn /sessions?id=session-7 3 ""`, `warn /sessions?id=session-6 3 ""`,
			`warn  18 "in 6 more places"`, `fail  1 "host-1"`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("lines:\n%q\nwant\n%q", got, want)
		}
	})
}

// Events that are read from the log and also announced count once, and the newest are kept.
func TestNotables_Add(t *testing.T) {
	t.Parallel()
	n := &notables{of: map[event.Code][]event.Entry{}}
	for _, seq := range []uint64{5, 3, 9, 3, 5} {
		n.add(event.Entry{Seq: seq, Value: &event.Event{Code: event.HostLost}})
	}
	if lines := n.lines(); len(lines) != 1 || lines[0].Times != 3 {
		t.Errorf("lines are %+v", lines)
	}
	for seq := range uint64(2 * notableKept) {
		n.add(event.Entry{Seq: 100 + seq, Value: &event.Event{Code: event.HostLost}})
	}
	all := n.of[event.HostLost]
	if len(all) != notableKept || all[0].Seq != 99+2*notableKept || !slices.IsSortedFunc(all, func(a, b event.Entry) int { return int(b.Seq) - int(a.Seq) }) {
		t.Errorf("%d are kept, from %d", len(all), all[0].Seq)
	}
}
