package lobby

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/internal/refusal"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

// A ticket is kept as long as it is open, however long that takes.
func TestTickets_OpenOnesAreKept(t *testing.T) {
	t.Parallel()
	inHall(t, func(h *hall) {
		one := h.ask("anna", "slow") // and nobody else requests one
		wait.Pass(2*requestKept - patient)
		h.wants(one.ID, Searching)
		wait.Pass(patient)
		h.wants(one.ID, TimedOut)
	})
}

// A client that hangs up while its request is written is matched as if it had not.
func TestTickets_ClientHangsUp(t *testing.T) {
	t.Parallel()
	inHall(t, func(h *hall) {
		ctx, hangUp := context.WithCancel(h.Ctx)
		h.slowly(time.Second, hangUp)
		_, _ = h.Tickets.Start(ctx, "anna", "guest", MatchRequest{Matchmaker: "alone"})
		wait.Pass(time.Minute / 2)
		one := h.Tickets.of.First(h.st.View(), "anna")
		if one == nil {
			h.Fatal("there is no ticket")
		}
		h.ask("bert", "alone")
		wait.Pass(time.Second)
		h.wants(one.ID, Completed)
	})
}

// The same for a game session: the wait ends with the timeout of its queue.
func TestPlacements_ClientHangsUp(t *testing.T) {
	t.Parallel()
	inHall(t, func(h *hall) {
		ctx, hangUp := context.WithCancel(h.Ctx)
		h.slowly(time.Second, hangUp)
		_, _ = h.Placements.Start(ctx, "anna", &Pool{Name: "empty", Queue: "empty", MaxPlayers: 2}, SessionRequest{})
		wait.Pass(patient + 2*time.Second)
		if p := h.Placements.of.First(h.st.View(), "anna"); p == nil || p.Result.State != PlacementTimedOut {
			t.Errorf("the placement is %+v, want it timed out", p)
		}
	})
}

// A request that the matchmaker refuses leaves nothing: no ticket, and the members of the
// party are still ready.
func TestTickets_Refused(t *testing.T) {
	t.Parallel()
	inHall(t, func(h *hall) {
		p := h.readyParty("alone")
		many := map[string]JSON{}
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"} {
			many[name] = JSON("1")
		}
		if _, err := h.Tickets.Start(h.Ctx, "anna", "guest", MatchRequest{Matchmaker: "alone", PartyID: p.ID, Attributes: many}); err == nil {
			t.Fatal("eleven attributes were accepted")
		}
		if n := h.Tickets.rows.Len(h.st.View()); n != 0 {
			t.Errorf("%d tickets were written", n)
		}
		if now := h.Parties.rows.Get(h.st.View(), p.ID); !now.member("bert").IsReady(time.Now()) {
			t.Error("bert is not ready any more")
		}
	})
}

// A player is on at most one open ticket, and learns which only if it is theirs.
func TestTickets_OneForEachPlayer(t *testing.T) {
	t.Parallel()
	inHall(t, func(h *hall) {
		first := h.ask("anna", "alone")
		_, err := h.Tickets.Start(h.Ctx, "anna", "guest", MatchRequest{Matchmaker: "slow"})
		if r, _ := err.(*refusal.Refusal); r == nil || r.Code != TicketActive || r.TicketID != first.ID {
			t.Errorf("got %v, want ticket-active with the ticket", err)
		}
		_, err = h.Tickets.Cancel(h.Ctx, "anna", first.ID)
		h.Must(err)
		h.ask("anna", "slow")
	})
}

// Everything that has expired is deleted, no matter how much.
func TestSweep_DeletesAll(t *testing.T) {
	t.Parallel()
	inHall(t, func(h *hall) {
		h.Must(h.st.Update(h.Ctx, func(tx *store.Tx) error {
			for range 2*store.DueAtOnce + 1 {
				h.Tickets.put(tx, &Ticket{Request: Request{ID: tx.ID("")}, Players: []string{"anna"}, Found: Found{State: Failed}})
			}
			return nil
		}))
		wait.Pass(requestKept - time.Second)
		if n := h.Tickets.rows.Len(h.st.View()); n != 2*store.DueAtOnce+1 {
			t.Errorf("%d tickets are left before they expire", n)
		}
		wait.Pass(time.Second)
		synctest.Wait()
		if n := h.Tickets.rows.Len(h.st.View()); n != 0 {
			t.Errorf("%d tickets are still kept", n)
		}
	})
}

// A player's own latencies are used for fifteen minutes.
func TestLatencies_Expire(t *testing.T) {
	t.Parallel()
	inHall(t, func(h *hall) {
		accepted, rejected := h.Latencies.Report("anna", []Sample{{Location: "custom-home", Millis: 12.5}, {Location: "nowhere", Millis: 1}})
		if accepted["custom-home"] != 13 || len(rejected) != 1 || rejected[0].Reason != UnknownLocation {
			t.Fatalf("accepted %v, rejected %v", accepted, rejected)
		}
		latency := func(player string) map[string]int {
			h.ask(player, "alone")
			found, err := h.matches.Get(h.Ctx, h.Tickets.of.First(h.st.View(), player).ID)
			h.Must(err)
			return found.Request.Players[0].Latency
		}
		wait.Pass(latencyLife - time.Second)
		if got := latency("anna"); got["custom-home"] != 13 {
			t.Errorf("latency %v is used, want the reported one", got)
		}
		h.Latencies.Report("bert", []Sample{{Location: "custom-home", Millis: 20}})
		wait.Pass(latencyLife)
		if got := latency("bert"); len(got) != 0 {
			t.Errorf("latency %v is used after it has expired", got)
		}
	})
}
