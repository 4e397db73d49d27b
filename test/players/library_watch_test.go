package players

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player"
)

// What a player has under way, and each change of it, is reported by push and by polling:
// party, ticket, placement, and the end of the party.
func TestLibrary_Watch(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	for _, noSocket := range []bool{false, true} {
		c, me := s.login(func(o *player.Config) { o.NoSocket = noSocket })
		party, err := c.CreateParty(t.Context(), "pair", 2)
		s.must(err)
		var ticket session.Ticket
		var made session.Created
		seen := map[string]bool{}
		for e := range c.Watch(t.Context()) {
			switch {
			case e.Push == player.PushConnected || e.Push == player.PushPolling:
				ticket, err = c.StartMatchmaking(t.Context(), session.MatchRequest{Configuration: "duel", Players: []session.Player{{ID: me.PlayerID}}})
				s.must(err)
				if made, err = c.Create(t.Context(), session.CreateRequest{Target: session.Target{QueueName: "duel"}}); err != nil {
					t.Fatal(err)
				}
			case e.Party != nil && e.Party.PartyID == party.PartyID:
				s.must(c.LeaveParty(t.Context(), party.PartyID))
			case e.PartyLeft:
				seen["party left"] = true
			case e.Placement != nil && e.Placement.ID == made.PlacementID:
				seen["placement"] = true
			case e.Ticket != nil && e.Ticket.ID == ticket.ID && e.Ticket.State == session.Searching:
				s.must(c.StopMatchmaking(t.Context(), ticket.ID))
			case e.Ticket != nil && e.Ticket.ID == ticket.ID && e.Ticket.State.Terminal():
				seen["ticket"] = true
			}
			if noSocket && seen["ticket"] || len(seen) == 3 { // polling begins with tickets alone
				break
			}
		}
		if err := c.LeaveParty(t.Context(), party.PartyID); err != nil && !errors.Is(err, session.ErrNotFound) {
			t.Error(err)
		}
		s.must(c.CancelPlacement(t.Context(), made.PlacementID))
	}
}

// A player's name and public data are what others see, whoever asks.
func TestLibrary_Profiles(t *testing.T) {
	t.Parallel()
	s := bare(t, nil)
	c, me := s.login(nil)
	other, _ := s.login(nil)
	account, err := c.Rename(t.Context(), "Anna")
	s.must(err)
	if again, err := c.Account(t.Context()); err != nil || again.DisplayName != "Anna" || again.PlayerID != account.PlayerID || account.PlayerID != me.PlayerID {
		t.Errorf("the account is %+v, %v", again, err)
	}
	_, err = c.PutData(t.Context(), "public", "level", 7, player.NoVersion)
	s.must(err)
	found, err := other.LookUp(t.Context(), "nobody", me.PlayerID)
	if err != nil || len(found) != 1 || found[0].DisplayName != "Anna" || string(found[0].Data["level"].Value) != "7" {
		t.Errorf("others see %+v, %v", found, err)
	}
	if _, err := other.Profile(t.Context(), "nobody"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("who does not exist: %v", err)
	}
	if err := c.DeleteData(t.Context(), "public", "level", 2); !errors.Is(err, session.ErrConflict) {
		t.Errorf("an old version is deleted: %v", err)
	}
	s.must(c.DeleteData(t.Context(), "public", "level", player.AnyVersion))
	if all, err := c.AllData(t.Context(), "public"); err != nil || len(all) != 0 {
		t.Errorf("left is %+v, %v", all, err)
	}
	if all, err := c.Tickets(t.Context(), true); err != nil || len(all) != 0 {
		t.Errorf("tickets: %+v, %v", all, err)
	}
}

// A read and a write in any case are repeated when the server is not reached; what could be
// done twice is not, and neither is a write that depends on a version.
func TestLibrary_Repeats(t *testing.T) {
	t.Parallel()
	s := bare(t, nil)
	var fails atomic.Int64
	c, _ := s.login(func(o *player.Config) {
		o.HTTP = &http.Client{Transport: wire(func(r *http.Request) (*http.Response, error) {
			if !strings.Contains(r.URL.Path, "/auth/") && fails.Add(-1) >= 0 {
				return nil, errors.New("no way there")
			}
			return http.DefaultTransport.RoundTrip(r)
		})}
	})
	for _, call := range []struct {
		name    string
		repeats bool
		make    func() error
	}{
		{"read", true, func() error { _, err := c.Account(t.Context()); return err }},
		{"read without login", true, func() error { _, err := c.World(t.Context()); return err }},
		{"write", true, func() error { _, err := c.PutData(t.Context(), "private", "k", 1, player.AnyVersion); return err }},
		{"write at a version", false, func() error { _, err := c.PutData(t.Context(), "private", "k", 2, 1); return err }},
		{"party", false, func() error { _, err := c.CreateParty(t.Context(), "none", 2); return err }},
	} {
		fails.Store(2)
		if err := call.make(); (err == nil) != call.repeats || err != nil && !errors.Is(err, session.ErrUnavailable) {
			t.Errorf("%s: %v; want it repeated: %t", call.name, err, call.repeats)
		}
		if left := fails.Load() >= 0; left == call.repeats {
			t.Errorf("%s: %d failures are left", call.name, fails.Load())
		}
	}
}
