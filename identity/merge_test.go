package identity

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/refusal"
)

// two is a guest, mine, who wants the account "anna" of the provider "id", which is
// linked to theirs.
type two struct {
	*house
	mine, theirs *Session
}

func newTwo(h *house) *two {
	h.Helper()
	theirs, err := h.ids.Logins.Login(h.ctx, "id", h.credential("anna"), true)
	h.must(err)
	return &two{h, h.guest(), theirs}
}

func withTwoProviders() Options {
	o := withOIDC()
	second := o.Providers[0]
	second.Name = "id2"
	o.Providers = append(o.Providers, second)
	return o
}

func (h *house) credential(subject string) Credential {
	h.Helper()
	return Credential{Token: h.world.op.token(h.world.op.claims(subject)), Nonce: "n-1"}
}

func (h *house) who(s *Session) Claims {
	h.Helper()
	who, err := h.ids.Tokens.Check(s.AccessToken)
	h.must(err)
	return who
}

// conflict tries to link and returns the token of the refusal.
func (h *house) conflict(who Claims, subject string) string {
	h.Helper()
	err := h.link(who, "id", h.credential(subject))
	h.refused(err, IdentityInUse)
	r, _ := errors.AsType[*refusal.Refusal](err)
	return r.ConflictToken
}

// The kept player has the account and its own data; the other is gone.
func TestMerge(t *testing.T) {
	t.Parallel()
	for _, keepTheirs := range []bool{false, true} {
		h := newHouse(t, withTwoProviders())
		w := newTwo(h)
		kept, lost := w.mine, w.theirs
		if keepTheirs {
			kept, lost = lost, kept
		}
		for _, s := range []*Session{kept, lost} {
			h.must(h.put(s.PlayerID, Public, "of", `"`+s.PlayerID+`"`, Expect{}))
		}
		token := h.conflict(h.who(w.mine), "anna")
		if raw := strings.TrimPrefix(token, "ct_"); raw == token || len(raw) != 32 {
			t.Errorf("the token is %q", token)
		}
		in, err := h.ids.Merges.Merge(h.ctx, h.who(w.mine), token, keepTheirs)
		h.must(err)
		if in.PlayerID != kept.PlayerID || in.Scope != ScopeAuthenticated || len(in.Links) != 1 || in.Created {
			t.Errorf("the login is %+v, want one of %s", in, kept.PlayerID)
		}
		h.who(in)
		h.who(kept) // its old login remains
		h.refused(h.check(lost.AccessToken), TokenInvalid)
		h.refused(h.refresh(lost.RefreshToken), RefreshInvalid)
		_, err = h.ids.Accounts.Get(lost.PlayerID)
		h.refused(err, NotFound)
		h.refused(h.put(lost.PlayerID, Server, "late", "1", Expect{}), NotFound)
		if keepTheirs {
			h.refused(h.loginGuest(lost), GuestSecretInvalid)
		}
		again, err := h.ids.Logins.Login(h.ctx, "id", h.credential("anna"), false)
		h.must(err)
		if again.PlayerID != kept.PlayerID {
			t.Errorf("the account leads to %s, want %s", again.PlayerID, kept.PlayerID)
		}
		for _, s := range []*Session{kept, lost} {
			if d, err := h.ids.Data.Get(s.PlayerID, Public, "of"); err != nil || d.Value != `"`+s.PlayerID+`"` {
				t.Errorf("data of %s: %+v, %v", s.PlayerID, d, err)
			}
		}
		h.tellsMerge(kept.PlayerID, lost.PlayerID)
		h.reopen()
	}
}

// tellsMerge fails the test unless the log has the merge exactly once.
func (h *house) tellsMerge(kept, lost string) {
	h.Helper()
	page, err := h.ids.Tokens.events.Read(h.ctx, event.Query{After: 1, Limit: 100})
	h.must(err)
	n := 0
	for _, e := range page {
		if e.Value.Code == event.PlayerMerged && e.Value.Resource == kept && strings.HasPrefix(e.Value.Message, lost) {
			n++
		}
	}
	if n != 1 {
		h.Errorf("%d events tell of the merge, want 1", n)
	}
}

// A token can be used once, for five minutes, by the player who got it, as long as the
// account is still linked as it was; only the newest token is valid.
func TestMerge_Token(t *testing.T) {
	t.Parallel()
	inHouse(t, withTwoProviders(), func(h *house) {
		w := newTwo(h)
		mine, thief := h.who(w.mine), h.who(h.guest())
		merge := func(who Claims, token string) error {
			_, err := h.ids.Merges.Merge(h.ctx, who, token, false)
			return err
		}
		for _, token := range []string{"", "ct_", "ct_guess"} {
			h.refused(merge(mine, token), ConflictInvalid)
		}
		old := h.conflict(mine, "anna")
		h.refused(merge(thief, old), ConflictInvalid)
		h.refused(merge(h.who(w.theirs), old), ConflictInvalid)
		own := h.conflict(thief, "anna") // the thief's own conflict
		h.refused(merge(thief, old), ConflictInvalid)
		h.refused(merge(mine, own), ConflictInvalid)
		newest := h.conflict(mine, "anna")
		h.refused(merge(mine, old), ConflictInvalid)
		settle(conflictLife - time.Millisecond)
		mine.Login, thief.Login = time.Now(), time.Now() // otherwise the login would be too old first
		h.must(merge(mine, newest))
		h.refused(merge(mine, newest), ConflictInvalid)
		h.refused(merge(thief, own), ConflictInvalid) // the account is now linked to mine

		fresh := h.who(h.guest())
		late := h.conflict(fresh, "anna")
		settle(conflictLife)
		h.refused(merge(fresh, late), ConflictInvalid)
		settle(2 * sweepEvery)
		if n := h.ids.Merges.table.Len(h.st.View()); n != 0 {
			t.Errorf("%d conflicts are kept for ever", n)
		}
		h.reopen()
	})
}

// A used proof creates no conflict: someone who obtained a used ID token cannot take
// the account with it.
func TestMerge_NeedsAnUnusedProof(t *testing.T) {
	t.Parallel()
	h := newHouse(t, withOIDC())
	used := h.credential("anna")
	h.must(h.login("id", used, true))
	h.refused(h.link(h.who(h.guest()), "id", used), ProviderInvalid)
	once := h.credential("anna")
	h.refused(h.link(h.who(h.guest()), "id", once), IdentityInUse)
	h.refused(h.login("id", once, false), ProviderInvalid)
}

// The login must be recent, and must not have ended.
func TestMerge_NeedsAFreshLogin(t *testing.T) {
	t.Parallel()
	inHouse(t, withOIDC(), func(h *house) {
		w := newTwo(h)
		mine := h.who(w.mine)
		settle(8 * time.Minute)
		token := h.conflict(mine, "anna")
		settle(3 * time.Minute)
		h.refused(h.merge(mine, token, false), ReauthRequired)
		in, err := h.ids.Logins.LoginGuest(h.ctx, w.mine.PlayerID, w.mine.GuestSecret)
		h.must(err)
		gone := h.who(in)
		h.must(h.ids.Tokens.LogoutAccess(h.ctx, gone, false))
		h.refused(h.merge(gone, token, false), TokenInvalid)
		// The login of the kept player is as old as its proof.
		in, err = h.ids.Logins.LoginGuest(h.ctx, w.mine.PlayerID, w.mine.GuestSecret)
		h.must(err)
		proven := time.Now().Add(-3 * time.Minute)
		in, err = h.ids.Merges.Merge(h.ctx, h.who(in), token, true)
		h.must(err)
		if login := h.who(in).Login; login.Sub(proven).Abs() > time.Second {
			t.Errorf("the login counts from %v, want %v", login, proven)
		}
	})
}

// The lost player must have no further external account, and the kept one no other of
// the provider; after a refusal the token can be used for the other choice.
func TestMerge_OnlyGuestsAreGivenUp(t *testing.T) {
	t.Parallel()
	h := newHouse(t, withTwoProviders())
	w := newTwo(h)
	theirs, mine := h.who(w.theirs), h.who(w.mine)
	h.must(h.link(theirs, "id2", h.credential("anna")))
	token := h.conflict(mine, "anna")
	h.refused(h.merge(mine, token, false), NotGuest)
	h.must(h.ids.Logins.Unlink(h.ctx, theirs, "id2"))
	h.must(h.link(mine, "id2", h.credential("bert")))
	h.refused(h.merge(mine, token, true), NotGuest)
	h.must(h.merge(mine, token, false))

	h = newHouse(t, withOIDC())
	w = newTwo(h)
	mine = h.who(w.mine)
	h.must(h.link(mine, "id", h.credential("bert")))
	h.refused(h.merge(mine, h.conflict(mine, "anna"), false), IdentityInUse)
	h.reopen()
}

// No ban ends by a merge: neither player may be banned, and a ban for what a player did
// before the merge bans the kept player.
func TestMerge_Bans(t *testing.T) {
	t.Parallel()
	inHouse(t, withOIDC(), func(h *house) {
		w := newTwo(h)
		mine := h.who(w.mine)
		token := h.conflict(mine, "anna")
		h.must(h.ids.Accounts.Ban(h.ctx, w.theirs.PlayerID, "cheated", time.Now().Add(time.Minute)))
		for _, keepTheirs := range []bool{false, true} {
			h.refused(h.merge(mine, token, keepTheirs), Banned)
		}
		if again := h.conflict(mine, "anna"); again != "" {
			t.Error("a conflict with a banned player gives a token")
		}
		h.must(h.ids.Accounts.Ban(h.ctx, w.mine.PlayerID, "cheated", time.Now().Add(time.Minute)))
		h.refused(h.merge(mine, token, true), TokenInvalid) // the token was checked before the ban
		settle(time.Minute)

		in, err := h.ids.Logins.LoginGuest(h.ctx, w.mine.PlayerID, w.mine.GuestSecret)
		h.must(err)
		mine = h.who(in)
		in, err = h.ids.Merges.Merge(h.ctx, mine, h.conflict(mine, "anna"), true)
		h.must(err)
		h.must(h.ids.Accounts.Ban(h.ctx, w.mine.PlayerID, "cheated", time.Now().Add(time.Hour)))
		h.refused(h.check(in.AccessToken), TokenInvalid)
		h.refused(h.login("id", h.credential("anna"), false), Banned)
	})
}

// Of simultaneous merges with one token one succeeds, whichever player they keep; those of several
// players with the holder of an account are done one after the other, and none undoes half of
// another.
func TestMerge_AtOnce(t *testing.T) {
	t.Parallel()
	for _, several := range []bool{false, true} {
		h := newHouse(t, withOIDC())
		newTwo(h)
		var who [6]Claims
		var tokens [6]string
		for i := range who {
			if i == 0 || several {
				who[i] = h.who(h.guest())
				tokens[i] = h.conflict(who[i], "anna")
			} else {
				who[i], tokens[i] = who[0], tokens[0]
			}
		}
		won := 0
		for i, err := range atOnce(len(who), func(i int) error { return h.merge(who[i], tokens[i], i%2 == 0) }) {
			// A kept holder may have been merged into another before the answer is built.
			late := (!several || i%2 == 0) && refusal.Is(err, TokenInvalid)
			if err == nil {
				won++
			} else if !refusal.Is(err, ConflictInvalid) && !late {
				t.Error(err)
			}
		}
		if !several && won != 1 {
			t.Errorf("%d merges happened with the token, want 1", won)
		}
		h.consistent("anna")
		h.reopen()
	}
}

// consistent fails the test unless the account is linked to an existing player, and each
// merged player was merged into an existing one and has no login and no link.
func (h *house) consistent(subject string) {
	h.Helper()
	view := h.st.View()
	if l := h.ids.Accounts.links.table.Get(view, linkKey("id", subject)); l == nil || h.ids.Accounts.players.account(view, l.PlayerID) == nil {
		h.Errorf("the account leads to %+v", l)
	}
	merged := 0
	for p := range h.ids.Accounts.players.table.All(view) {
		if p.MergedInto == "" {
			continue
		}
		merged++
		if h.ids.Accounts.players.account(view, p.MergedInto) == nil {
			h.Errorf("%s was merged into %s, who is not there", p.ID, p.MergedInto)
		}
		if h.ids.Accounts.links.player.Count(view, p.ID)+h.ids.Tokens.families.player.Count(view, p.ID) != 0 || len(p.GuestSecret) != 0 {
			h.Errorf("%s was merged and can still log in", p.ID)
		}
	}
	if merged == 0 {
		h.Error("nobody was merged")
	}
}

// The number of merges is limited, whichever player they keep: each merge iterates over
// all that were merged before. Once those are removed, merging is possible again.
func TestMerge_IsBounded(t *testing.T) {
	t.Parallel()
	inHouse(t, withOIDC(), func(h *house) {
		newTwo(h)
		merge := func(keepTheirs bool) error {
			mine := h.who(h.guest())
			_, err := h.ids.Merges.Merge(h.ctx, mine, h.conflict(mine, "anna"), keepTheirs)
			return err
		}
		for i := range mergedMost {
			h.must(merge(i%2 == 0))
		}
		for _, keepTheirs := range []bool{false, true} {
			h.refused(merge(keepTheirs), MergedTooOften)
		}
		settle(mergedKept + 2*sweepEvery)
		h.must(merge(false))
	})
}

// The lost player is kept for thirty days, and is removed with the player it was merged
// into, even if that one was merged again.
func TestMerge_IsKeptForAWhile(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(h *house, last *Session){
		"time":   func(*house, *Session) { settle(mergedKept + 2*sweepEvery) },
		"delete": func(h *house, last *Session) { h.must(h.ids.Accounts.Delete(h.ctx, h.who(last))) },
	} {
		inHouse(t, withOIDC(), func(h *house) {
			w := newTwo(h)
			h.must(h.put(w.theirs.PlayerID, Private, "save", "1", Expect{}))
			h.must(h.merge(h.who(w.mine), h.conflict(h.who(w.mine), "anna"), false))
			last := h.guest()
			last, err := h.ids.Merges.Merge(h.ctx, h.who(last), h.conflict(h.who(last), "anna"), false)
			h.must(err)
			if name == "time" {
				settle(mergedKept - time.Hour)
				if _, err := h.ids.Data.Get(w.theirs.PlayerID, Private, "save"); err != nil {
					t.Errorf("the data was not kept: %v", err)
				}
			}
			end(h, last)
			for _, lost := range []*Session{w.mine, w.theirs} {
				if h.ids.Accounts.players.table.Get(h.st.View(), lost.PlayerID) != nil {
					t.Errorf("%s: %s is still there", name, lost.PlayerID)
				}
			}
			if _, err := h.ids.Data.Get(w.theirs.PlayerID, Private, "save"); !refusal.Is(err, NotFound) {
				t.Errorf("%s: the data is still there: %v", name, err)
			}
			if name == "time" && h.ids.Accounts.players.account(h.st.View(), last.PlayerID) == nil {
				t.Error("who was kept has gone too")
			}
			h.reopen()
		})
	}
}
