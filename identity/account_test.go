package identity

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/internal/refusal"
)

func TestGuest(t *testing.T) {
	t.Parallel()
	h := newHouse(t, Options{})
	a, b := h.guest(), h.guest()
	in, err := h.ids.Logins.LoginGuest(h.ctx, a.PlayerID, a.GuestSecret)
	h.must(err)
	if in.PlayerID != a.PlayerID || in.GuestSecret != "" {
		t.Errorf("got %+v", in)
	}
	for _, c := range [][2]string{{a.PlayerID, b.GuestSecret}, {a.PlayerID, ""}, {"nobody", a.GuestSecret}, {"", ""}} {
		_, err := h.ids.Logins.LoginGuest(h.ctx, c[0], c[1])
		h.refused(err, GuestSecretInvalid)
	}
	h.reopen()
	h.must(h.loginGuest(a))
}

// What is stored contains no secret in plain text.
func TestSecrets_AreNotStored(t *testing.T) {
	t.Parallel()
	h := newHouse(t, withOIDC())
	s := h.guest()
	token := h.world.op.token(h.world.op.claims("anna"))
	h.must(h.login("id", Credential{Token: token, Nonce: "n-1"}, true))
	conflict := strings.TrimPrefix(h.conflict(h.who(s), "anna"), "ct_")
	if conflict == "" {
		t.Fatal("there is no conflict")
	}
	var stored bytes.Buffer
	view := h.st.View()
	for p := range h.ids.Accounts.players.table.All(view) {
		h.must(json.MarshalWrite(&stored, p))
	}
	for f := range h.ids.Tokens.families.table.All(view) {
		h.must(json.MarshalWrite(&stored, f))
	}
	for c := range h.ids.Merges.table.All(view) {
		h.must(json.MarshalWrite(&stored, c))
	}
	for u := range h.ids.Merges.proofs.table.All(view) {
		h.must(json.MarshalWrite(&stored, u))
	}
	for k := range h.ids.Tokens.Keys.table.All(view) {
		h.must(json.MarshalWrite(&stored, k))
		signer := string(k.Sealed)
		if strings.Contains(signer, "PRIVATE") {
			t.Error("a private key is stored in the clear")
		}
	}
	for name, secret := range map[string]string{"guest secret": s.GuestSecret, "refresh token": s.RefreshToken, "ID token": token, "conflict token": conflict} {
		if strings.Contains(stored.String(), secret) {
			t.Errorf("the %s is stored in the clear", name)
		}
	}
}

func TestLink(t *testing.T) {
	t.Parallel()
	h := newHouse(t, withOIDC())
	guest := h.guest()
	who := h.who(guest)
	linked, err := h.ids.Logins.Link(h.ctx, who, "id", h.credential("anna"))
	h.must(err)
	if linked.PlayerID != guest.PlayerID || linked.Scope != ScopeAuthenticated {
		t.Errorf("got %+v", linked)
	}
	h.must(h.link(who, "id", h.credential("anna"))) // repeated: unchanged
	h.refused(h.link(who, "id", h.credential("second")), IdentityInUse)
	in, err := h.ids.Logins.Login(h.ctx, "id", h.credential("anna"), false)
	h.must(err)
	if in.PlayerID != guest.PlayerID {
		t.Error("the linked account leads to another player")
	}
	other := h.who(h.guest())
	h.refused(h.link(other, "id", h.credential("anna")), IdentityInUse)
	h.refused(h.login("id", h.credential("nobody"), false), NotFound)
	h.refused(h.login("elsewhere", h.credential("anna"), true), ProviderDisabled)

	h.must(h.ids.Logins.Unlink(h.ctx, who, "id"))
	h.refused(h.check(in.AccessToken), TokenInvalid) // its login was by an account that is not linked any more
	only, err := h.ids.Logins.Login(h.ctx, "id", h.credential("carl"), true)
	h.must(err)
	who = h.who(only)
	h.refused(h.ids.Logins.Unlink(h.ctx, who, "id"), LastCredential)
	h.reopen()
}

// An ID token that linked an account is used up: someone who obtains it can neither log
// in with it nor link the account elsewhere. The player who linked may repeat the
// request, since the answer may have been lost.
func TestLink_TokenOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, withOIDC())
	mine, thief := h.who(h.guest()), h.who(h.guest())
	first, second := h.credential("anna"), h.credential("anna")
	for _, c := range []Credential{first, first, second} {
		h.must(h.link(mine, "id", c))
	}
	for _, c := range []Credential{first, second} {
		h.refused(h.login("id", c, false), ProviderInvalid)
	}
	h.must(h.ids.Logins.Unlink(h.ctx, mine, "id"))
	for _, c := range []Credential{first, second} {
		h.refused(h.link(thief, "id", c), ProviderInvalid)
	}
	h.reopen()
}

// A login that was ended as stolen links nothing.
func TestLink_NotByALoginThatEnded(t *testing.T) {
	t.Parallel()
	inHouse(t, withOIDC(), func(h *house) {
		s := h.guest()
		who := h.who(s)
		h.must(h.refresh(s.RefreshToken))
		settle(time.Minute)
		h.refused(h.refresh(s.RefreshToken), RefreshReused)
		h.refused(h.link(who, "id", h.credential("anna")), TokenInvalid) // the token was checked before that
	})
}

// Of two players who link one account at the same time, one succeeds.
func TestLink_AtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, withOIDC())
	var who [6]Claims
	for i := range who {
		who[i] = h.who(h.guest())
	}
	won := 0
	for _, err := range atOnce(len(who), func(i int) error { return h.link(who[i], "id", h.credential("anna")) }) {
		if err == nil {
			won++
		} else if !refusal.Is(err, IdentityInUse) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d players linked the account, want 1", won)
	}
}

func TestCredentials_NeedAFreshLogin(t *testing.T) {
	t.Parallel()
	inHouse(t, withOIDC(), func(h *house) {
		s := h.guest()
		settle(11 * time.Minute)
		who := h.who(s)
		h.refused(h.link(who, "id", h.credential("anna")), ReauthRequired)
		h.refused(h.ids.Accounts.Delete(h.ctx, who), ReauthRequired)
		refreshed, err := h.ids.Tokens.Refresh(h.ctx, s.RefreshToken) // is not a login
		h.must(err)
		who = h.who(refreshed)
		h.refused(h.ids.Logins.Unlink(h.ctx, who, "id"), ReauthRequired)
	})
}

func TestBan(t *testing.T) {
	t.Parallel()
	inHouse(t, Options{}, func(h *house) {
		s := h.guest()
		h.must(h.ids.Accounts.Ban(h.ctx, s.PlayerID, "cheated", time.Now().Add(time.Hour)))
		h.refused(h.check(s.AccessToken), TokenInvalid)
		h.refused(h.refresh(s.RefreshToken), RefreshInvalid)
		h.refused(h.loginGuest(s), Banned)
		h.reopen()
		settle(time.Hour)
		h.must(h.loginGuest(s))
	})
}

func TestDelete(t *testing.T) {
	t.Parallel()
	h := newHouse(t, withOIDC())
	s := h.guest()
	who := h.who(s)
	h.must(h.put(s.PlayerID, Private, "save", `1`, Expect{}))
	h.must(h.link(who, "id", h.credential("anna")))
	h.must(h.ids.Accounts.Delete(h.ctx, who))
	h.refused(h.check(s.AccessToken), TokenInvalid)
	view := h.st.View()
	if n := h.ids.Accounts.players.table.Len(view) + h.ids.Accounts.links.table.Len(view) + h.ids.Tokens.families.table.Len(view) + h.ids.Data.table.Len(view); n != 0 {
		t.Errorf("%d rows of the account are left", n)
	}
}

func TestRename(t *testing.T) {
	t.Parallel()
	h := newHouse(t, Options{})
	s := h.guest()
	p, err := h.ids.Accounts.Rename(h.ctx, s.PlayerID, "Zoë 2")
	h.must(err)
	if p.DisplayName != "Zoë 2" {
		t.Errorf("got %q", p.DisplayName)
	}
	for _, name := range []string{"", "ab", strings.Repeat("a", 33), " abc", "a\x00bc", "a\u202ebc"} {
		_, err := h.ids.Accounts.Rename(h.ctx, s.PlayerID, name)
		h.refused(err, Invalid)
	}
}

func TestData(t *testing.T) {
	t.Parallel()
	h := newHouse(t, Options{})
	s, other := h.guest(), h.guest()
	put := func(player, key, value string, e Expect) (*Datum, error) {
		return h.ids.Data.Put(h.ctx, player, Private, key, []byte(value), e)
	}
	d, err := put(s.PlayerID, "save", ` {"a": "\u0041", "n": 1.50} `, Expect{Absent: true})
	h.must(err)
	if d.Version != 1 {
		t.Errorf("the first version is %d", d.Version)
	}
	_, err = put(s.PlayerID, "save", `2`, Expect{Absent: true})
	h.refused(err, VersionConflict)
	_, err = put(s.PlayerID, "save", `2`, Expect{Version: 2})
	h.refused(err, VersionConflict)
	_, err = put(s.PlayerID, "other", `2`, Expect{Version: 1})
	h.refused(err, VersionConflict)
	h.reopen()
	d, err = put(s.PlayerID, "save", `[2]`, Expect{Version: 1})
	h.must(err)
	if d.Version != 2 || d.Value != `[2]` {
		t.Errorf("got %+v", d)
	}
	if _, err := h.ids.Data.Get(other.PlayerID, Private, "save"); !refusal.Is(err, NotFound) {
		t.Errorf("another player's data: %v", err)
	}
	for _, c := range [][2]string{{"", "1"}, {"a/b", "1"}, {strings.Repeat("k", 65), "1"}, {"k", ""}, {"k", "{"}, {"k", "1 2"}, {"k", `"` + strings.Repeat("x", MaxValue) + `"`}} {
		_, err := put(s.PlayerID, c[0], c[1], Expect{})
		h.refused(err, Invalid)
	}
	h.refused(h.ids.Data.Delete(h.ctx, s.PlayerID, Private, "save", Expect{Version: 1}), VersionConflict)
	h.must(h.ids.Data.Delete(h.ctx, s.PlayerID, Private, "save", Expect{Version: 2}))
	h.refused(h.ids.Data.Delete(h.ctx, s.PlayerID, Private, "save", Expect{}), NotFound)
}

// A version of a deleted value never matches a value created later for the same key.
func TestData_VersionsComeOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, Options{})
	s := h.guest()
	seen := map[int64]bool{}
	for range 3 {
		for range 2 {
			d, err := h.ids.Data.Put(h.ctx, s.PlayerID, Private, "save", []byte(`1`), Expect{})
			h.must(err)
			if seen[d.Version] {
				t.Errorf("version %d comes twice", d.Version)
			}
			if made := d.Version == d.First; made != (len(seen)%2 == 0) {
				t.Errorf("version %d was made with %d", d.Version, d.First)
			}
			seen[d.Version] = true
		}
		h.must(h.ids.Data.Delete(h.ctx, s.PlayerID, Private, "save", Expect{}))
		h.reopen()
	}
	h.refused(h.put(s.PlayerID, Private, "save", `1`, Expect{Version: 1}), VersionConflict)
}

func TestData_IsBounded(t *testing.T) {
	t.Parallel()
	h := newHouse(t, Options{})
	s := h.guest()
	big := `"` + strings.Repeat("x", MaxValue-2) + `"`
	for i := range MaxNamespace / MaxValue {
		h.must(h.put(s.PlayerID, Public, fmt.Sprint("big", i), big, Expect{}))
	}
	h.refused(h.put(s.PlayerID, Public, "more", big, Expect{}), Invalid)
	h.must(h.put(s.PlayerID, Public, "big0", big, Expect{})) // replaces
	for i := range MaxKeys {
		h.must(h.put(s.PlayerID, Private, fmt.Sprint("k", i), "1", Expect{}))
	}
	h.refused(h.put(s.PlayerID, Private, "more", "1", Expect{}), Invalid)
	all, err := h.ids.Data.All(s.PlayerID, Private)
	h.must(err)
	if len(all) != MaxKeys {
		t.Errorf("got %d values, want %d", len(all), MaxKeys)
	}
}
