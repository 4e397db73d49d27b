package lobby

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/internal/refusal"
	"github.com/musterhq/muster/internal/wait"
)

func (h *hall) party(a partyArgs) *Party {
	h.Helper()
	p, err := h.Parties.act.Do(h.Ctx, a)
	h.Must(err)
	return p
}

// readyParty returns a party of anna, who leads it, and bert, who is ready.
func (h *hall) readyParty(matchmaker string) *Party {
	h.Helper()
	p := h.party(partyArgs{Do: partyCreate, By: "anna", New: Party{Matchmaker: matchmaker, Max: 2}})
	h.party(partyArgs{Do: partyJoin, By: "bert", Code: p.Code})
	return h.party(partyArgs{Do: partyChange, Party: p.ID, By: "bert", Member: PartyMember{Ready: time.Now()}})
}

// A member who leaves, or is no longer ready, is on no ticket, even if the leader
// requests one before that is durable.
func TestParty_ConsentTakenBackMeanwhile(t *testing.T) {
	t.Parallel()
	for _, meanwhile := range []partyArgs{{Do: partyLeave, By: "bert", Target: "bert"}, {Do: partyChange, By: "bert"}} {
		inHall(t, func(h *hall) {
			p := h.readyParty("alone")
			h.slowly(time.Second, func() {})
			meanwhile.Party = p.ID
			left := make(chan error)
			go func() { _, err := h.Parties.act.Do(h.Ctx, meanwhile); left <- err }()
			synctest.Wait()
			_, err := h.Tickets.Start(h.Ctx, "anna", "guest", MatchRequest{Matchmaker: "alone", PartyID: p.ID})
			if r, _ := err.(*refusal.Refusal); r == nil || r.Code != PartyNotReady {
				t.Errorf("after %q: got %v, want party-not-ready", meanwhile.Do, err)
			}
			h.Must(<-left)
			if h.Tickets.of.First(h.st.View(), "bert") != nil {
				t.Errorf("after %q: bert is on a ticket", meanwhile.Do)
			}
		})
	}
}

// A ticket uses up the members' consent.
func TestParty_ConsentIsUsedUp(t *testing.T) {
	t.Parallel()
	inHall(t, func(h *hall) {
		p := h.readyParty("alone")
		_, err := h.Tickets.Start(h.Ctx, "anna", "guest", MatchRequest{Matchmaker: "alone", PartyID: p.ID})
		h.Must(err)
		if h.Tickets.of.First(h.st.View(), "bert") == nil {
			t.Fatal("bert is on no ticket")
		}
		if now := h.Parties.rows.Get(h.st.View(), p.ID); now.member("bert").IsReady(time.Now()) {
			t.Error("bert is ready for another match")
		}
	})
}

// A party is deleted half an hour after its last change.
func TestParty_Expires(t *testing.T) {
	t.Parallel()
	inHall(t, func(h *hall) {
		p := h.readyParty("alone")
		wait.Pass(partyKept - time.Second)
		if h.Parties.rows.Get(h.st.View(), p.ID) == nil {
			t.Error("the party is gone too early")
		}
		wait.Pass(time.Second)
		synctest.Wait()
		if h.Parties.rows.Get(h.st.View(), p.ID) != nil {
			t.Error("the party is still kept")
		}
	})
}
