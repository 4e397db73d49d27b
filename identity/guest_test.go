package identity

import (
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

const day = 24 * time.Hour

// there reports whether an account exists.
func (h *house) there(id string) bool {
	return h.ids.Accounts.players.table.Get(h.st.View(), id) != nil
}

// is fails the test unless exactly the wanted accounts exist, by name.
func (h *house) is(at string, accounts map[string]string, want ...string) {
	h.Helper()
	wanted := map[string]bool{}
	for _, name := range want {
		wanted[name] = true
	}
	for name, id := range accounts {
		if h.there(id) != wanted[name] {
			h.Errorf("%s: the account of who %s is there: %v, want %v", at, name, !wanted[name], wanted[name])
		}
	}
}

// Guests who stay away are removed with their logins, unless they have something to
// lose; one who comes back later starts anew.
func TestGuests_Purge(t *testing.T) {
	t.Parallel()
	opts := withOIDC()
	opts.GuestKeep, opts.KeyLife = 90*day, 400*day
	inHouse(t, opts, func(h *house) {
		accounts := map[string]string{}
		sessions := map[string]*Session{}
		for _, name := range []string{"stays away", "has data", "logs in", "refreshes", "is banned", "has a link", "renames"} {
			sessions[name] = h.guest()
			accounts[name] = sessions[name].PlayerID
		}
		h.must(h.put(accounts["has data"], Private, "k", "1", Expect{}))
		h.must(h.link(h.who(sessions["has a link"]), "id", h.credential("anna")))
		h.must(h.ids.Accounts.Ban(h.ctx, accounts["is banned"], "for a while", time.Now().Add(100*day)))
		_, err := h.ids.Accounts.Rename(h.ctx, accounts["renames"], "Bert")
		h.must(err)
		settle(80 * day)
		again, err := h.ids.Logins.LoginGuest(h.ctx, accounts["logs in"], sessions["logs in"].GuestSecret)
		h.must(err)
		h.must(h.ids.Tokens.LogoutAccess(h.ctx, h.who(again), true))
		h.must(h.refresh(sessions["refreshes"].RefreshToken))
		h.is("after 80 days", accounts, "stays away", "has data", "logs in", "refreshes", "is banned", "has a link", "renames")
		h.reopen()
		settle(11 * day)
		h.is("after 91 days", accounts, "has data", "logs in", "refreshes", "is banned", "has a link")
		if some(h.ids.Tokens.families.player.Equal(h.st.View(), accounts["stays away"])) {
			t.Error("logins of a guest who is gone are kept")
		}
		deleted := 0
		entries, err := h.ids.Tokens.events.Read(h.ctx, event.Query{Limit: 1000})
		h.must(err)
		for _, e := range entries {
			if e.Value.Code == event.PlayerDeleted && strings.Contains(e.Value.Message, "did not come back") {
				deleted++
			}
		}
		if deleted != 2 {
			t.Errorf("%d deletions are in the log, want 2", deleted)
		}
		settle(80 * day)
		h.is("after 171 days", accounts, "has data", "is banned", "has a link")
		h.must(h.ids.Data.Delete(h.ctx, accounts["has data"], Private, "k", Expect{}))
		settle(100 * day)
		h.is("after 271 days", accounts, "has a link")
		_, err = h.ids.Logins.LoginGuest(h.ctx, accounts["stays away"], sessions["stays away"].GuestSecret)
		h.refused(err, GuestSecretInvalid)
	})
}

// Many guests are removed in many transactions, and a restart in between continues
// with the rest.
func TestGuests_PurgeInSteps(t *testing.T) {
	t.Parallel()
	inHouse(t, Options{GuestKeep: 90 * day, KeyLife: 400 * day}, func(h *house) {
		const all = 2*store.DueAtOnce + 10
		for range all {
			h.guest()
		}
		h.stop()
		h.loops = false
		settle(90*day + time.Second)
		left := all
		for more := true; more; {
			var err error
			more, err = h.ids.sweep.Do(h.ctx, struct{}{})
			h.must(err)
			now := h.ids.Accounts.players.table.Len(h.st.View())
			if gone := left - now; gone > store.DueAtOnce || gone == 0 || more != (now > 0) {
				t.Fatalf("%d of %d guests go at once, and there are more: %v", gone, left, more)
			}
			left = now
			h.reopen()
		}
		if left != 0 {
			t.Errorf("%d guests are left", left)
		}
	})
}

// Guests created before there were checks get a whole period, and with a period below
// 0 all guests stay.
func TestGuests_PurgeBegins(t *testing.T) {
	t.Parallel()
	for keep, stays := range map[time.Duration]time.Duration{90 * day: 290 * day, -1: 0} {
		inHouse(t, Options{GuestKeep: keep, KeyLife: 1000 * day}, func(h *house) {
			h.stop()
			id := h.guest().PlayerID
			h.must(h.st.Update(h.ctx, func(tx *store.Tx) error {
				p := *h.ids.Accounts.players.table.Get(tx, id)
				p.IdleCheck = time.Time{}
				h.ids.Accounts.players.table.Put(tx, &p)
				return nil
			}))
			settle(200 * day)
			h.run(h.ids)
			settle(stays - 200*day - time.Hour)
			if !h.there(id) {
				t.Errorf("kept for %s: gone at once", keep)
			}
			settle(200 * day)
			if h.there(id) != (stays == 0) {
				t.Errorf("kept for %s: there after 490 days: %v", keep, h.there(id))
			}
		})
	}
}
