package backend

import (
	"errors"
	"testing"
	"time"

	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/sdk/session/player/protocol"
	"github.com/musterhq/muster/session"
)

func (d *deaf) guest() (player, token string) {
	d.Helper()
	d.must(d.b.ids.Open(d.ctx))
	s, err := d.b.ids.Logins.CreateGuest(d.ctx)
	d.must(err)
	return s.PlayerID, s.AccessToken
}

// A player who is banned, deleted or merged into another is no longer matched, is in no
// party, and waits for no game session; clients waiting for changes are woken.
func TestExpel(t *testing.T) {
	t.Parallel()
	for name, expel := range map[string]func(*deaf, string, string){
		"ban": func(d *deaf, player, _ string) {
			d.must(d.b.ids.Accounts.Ban(d.ctx, player, "cheats", time.Now().Add(time.Hour)))
		},
		"delete": func(d *deaf, _, token string) {
			who, err := d.b.ids.Tokens.Check(token)
			d.must(err)
			d.must(d.b.ids.Accounts.Delete(d.ctx, who))
		},
		"merge": func(d *deaf, _, token string) {
			studio := identity.Credential{Token: "anna"}
			_, err := d.b.ids.Logins.Login(d.ctx, "studio", studio, true)
			d.must(err)
			who, err := d.b.ids.Tokens.Check(token)
			d.must(err)
			_, err = d.b.ids.Logins.Link(d.ctx, who, "studio", studio)
			refusal, _ := errors.AsType[*identity.Refusal](err)
			_, err = d.b.ids.Merges.Merge(d.ctx, who, refusal.ConflictToken, true)
			d.must(err)
		},
	} {
		inDeaf(t, func(d *deaf) {
			player, token := d.guest()
			ticket := d.ask(player, "alone")
			party := d.party(partyArgs{Do: partyCreate, By: player, New: Party{Matchmaker: "alone", Max: 2}})
			wish := placement.Request{MaxPlayers: 2, Players: []session.Joining{{PlayerID: player}}}
			place, err := d.b.place(d.ctx, &Pool{Name: "empty", Queue: "empty"}, player, wish)
			d.must(err)
			waits, stop := d.b.hub.watch(player)
			defer stop()
			expel(d, player, token)
			select {
			case <-waits.nudge:
			default:
				t.Errorf("%s: the player's connections are not woken", name)
			}
			d.wants(ticket.ID, protocol.TicketStateCancelled)
			if now := d.b.t.placings.Get(d.b.st.View(), place.ID); now.Seen.State != protocol.PlacementStateCancelled {
				t.Errorf("%s: the game session is %q", name, now.Seen.State)
			}
			if d.b.t.parties.Get(d.b.st.View(), party.ID) != nil {
				t.Errorf("%s: the player is in a party", name)
			}
		})
	}
}

// A ban that is lifted expels nobody.
func TestExpel_LiftedBan(t *testing.T) {
	t.Parallel()
	inDeaf(t, func(d *deaf) {
		player, _ := d.guest()
		ticket := d.ask(player, "alone")
		d.must(d.b.ids.Accounts.Ban(d.ctx, player, "", time.Now().Add(-time.Hour)))
		time.Sleep(whole)
		d.wants(ticket.ID, protocol.TicketStateSearching)
	})
}

// Nothing is pushed to a connection whose login has ended: it is closed.
func TestExpel_NothingIsPushed(t *testing.T) {
	t.Parallel()
	inDeaf(t, func(d *deaf) {
		player, token := d.guest()
		c := &socket{b: d.b, ended: make(chan struct{}), token: token, player: identity.Claims{PlayerID: player}}
		if _, in := c.stillIn(); !in {
			t.Error("a good login has ended")
		}
		d.must(d.b.ids.Accounts.Ban(d.ctx, player, "cheats", time.Now().Add(time.Hour)))
		if _, in := c.stillIn(); in || c.code != protocol.CloseUnauthorized {
			t.Errorf("a banned player's connection is not closed: %d", c.code)
		}
	})
}
