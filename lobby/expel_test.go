package lobby

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/refusal"
	"github.com/musterhq/muster/internal/wait"
)

func (h *hall) guest() (player, token string) {
	h.Helper()
	h.Must(h.ids.Open(h.Ctx))
	s, err := h.ids.Logins.CreateGuest(h.Ctx)
	h.Must(err)
	return s.PlayerID, s.AccessToken
}

// A player who is banned, deleted or merged into another is no longer matched, is in no
// party, and waits for no game session, from the same moment; clients waiting for changes
// are woken. Nothing new can be requested for them.
func TestExpel(t *testing.T) {
	t.Parallel()
	for name, expel := range map[string]func(*hall, string, string){
		"ban": func(h *hall, player, _ string) {
			h.Must(h.ids.Accounts.Ban(h.Ctx, player, "cheats", time.Now().Add(time.Hour)))
		},
		"delete": func(h *hall, _, token string) {
			who, err := h.ids.Tokens.Check(token)
			h.Must(err)
			h.Must(h.ids.Accounts.Delete(h.Ctx, who))
		},
		"merge": func(h *hall, _, token string) {
			studio := identity.Credential{Token: "anna"}
			_, err := h.ids.Logins.Login(h.Ctx, "studio", studio, true)
			h.Must(err)
			who, err := h.ids.Tokens.Check(token)
			h.Must(err)
			_, err = h.ids.Logins.Link(h.Ctx, who, "studio", studio)
			refused, _ := errors.AsType[*refusal.Refusal](err)
			_, err = h.ids.Merges.Merge(h.Ctx, who, refused.ConflictToken, true)
			h.Must(err)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHall(t)
			var woken []string
			h.OnChanged(func(players []string) { woken = append(woken, players...) })
			h.begin()
			defer h.Close()
			player, token := h.guest()
			ticket := h.ask(player, "alone")
			party := h.party(partyArgs{Do: partyCreate, By: player, New: Party{Matchmaker: "alone", Max: 2}})
			place := h.place(h.Ctx, player)
			synctest.Wait()
			woken = nil
			expel(h, player, token)
			if !slices.Contains(woken, player) {
				t.Errorf("%s: the player's connections are not woken", name)
			}
			h.wants(ticket.ID, Cancelled)
			if now := h.Placements.rows.Get(h.st.View(), place.ID); now.Result.State != PlacementCancelled {
				t.Errorf("%s: the game session is %q", name, now.Result.State)
			}
			if h.Parties.rows.Get(h.st.View(), party.ID) != nil {
				t.Errorf("%s: the player is in a party", name)
			}
			// Start must refuse it: the token may have been checked before the player was expelled.
			if _, err := h.Tickets.Start(h.Ctx, player, identity.ScopeGuest, MatchRequest{Matchmaker: "alone"}); err == nil {
				t.Errorf("%s: the player is matched again", name)
			}
			if _, err := h.Placements.Start(h.Ctx, player, &Pool{Name: "empty", Queue: "empty", MaxPlayers: 2}, SessionRequest{}); err == nil {
				t.Errorf("%s: the player gets a game session", name)
			}
		})
	}
}

// A ban that is lifted expels nobody.
func TestExpel_LiftedBan(t *testing.T) {
	t.Parallel()
	inHall(t, func(h *hall) {
		player, _ := h.guest()
		ticket := h.ask(player, "alone")
		h.Must(h.ids.Accounts.Ban(h.Ctx, player, "", time.Now().Add(-time.Hour)))
		wait.Pass(time.Second)
		h.wants(ticket.ID, Searching)
	})
}

// A match that is being placed continues without a player who is banned.
func TestExpel_MatchGoesOn(t *testing.T) {
	t.Parallel()
	inHall(t, func(h *hall) {
		player, _ := h.guest()
		one, two := h.ask(player, "placed"), h.ask("bert", "placed")
		wait.Pass(time.Second)
		h.wants(one.ID, Placing)
		h.Must(h.ids.Accounts.Ban(h.Ctx, player, "", time.Now().Add(time.Hour)))
		h.wants(one.ID, Placing)
		h.wants(two.ID, Placing)
	})
}
