package identity

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
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
	_, err = h.ids.Logins.LoginGuest(h.ctx, a.PlayerID, a.GuestSecret)
	h.must(err)
}

// What is stored contains no secret in plain text.
func TestSecrets_AreNotStored(t *testing.T) {
	t.Parallel()
	h := newHouse(t, withOIDC())
	s := h.guest()
	token := h.world.op.token(h.world.op.claims("anna"))
	_, err := h.ids.Logins.Login(h.ctx, "id", Credential{Token: token, Nonce: "n-1"}, true)
	h.must(err)
	var stored bytes.Buffer
	view := h.st.View()
	for p := range h.ids.Accounts.players.table.All(view) {
		h.must(json.MarshalWrite(&stored, p))
	}
	for f := range h.ids.Tokens.families.table.All(view) {
		h.must(json.MarshalWrite(&stored, f))
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
	for name, secret := range map[string]string{"guest secret": s.GuestSecret, "refresh token": s.RefreshToken, "ID token": token} {
		if strings.Contains(stored.String(), secret) {
			t.Errorf("the %s is stored in the clear", name)
		}
	}
}

func TestLink(t *testing.T) {
	t.Parallel()
	h := newHouse(t, withOIDC())
	credential := func(subject string) Credential {
		return Credential{Token: h.world.op.token(h.world.op.claims(subject)), Nonce: "n-1"}
	}
	guest := h.guest()
	who, err := h.ids.Tokens.Check(guest.AccessToken)
	h.must(err)
	linked, err := h.ids.Logins.Link(h.ctx, who, "id", credential("anna"))
	h.must(err)
	if linked.PlayerID != guest.PlayerID || linked.Scope != ScopeAuthenticated {
		t.Errorf("got %+v", linked)
	}
	_, err = h.ids.Logins.Link(h.ctx, who, "id", credential("anna")) // repeated: unchanged
	h.must(err)
	_, err = h.ids.Logins.Link(h.ctx, who, "id", credential("second"))
	h.refused(err, IdentityInUse)
	in, err := h.ids.Logins.Login(h.ctx, "id", credential("anna"), false)
	h.must(err)
	if in.PlayerID != guest.PlayerID {
		t.Error("the linked account leads to another player")
	}
	other, err := h.ids.Tokens.Check(h.guest().AccessToken)
	h.must(err)
	_, err = h.ids.Logins.Link(h.ctx, other, "id", credential("anna"))
	h.refused(err, IdentityInUse)
	_, err = h.ids.Logins.Login(h.ctx, "id", credential("nobody"), false)
	h.refused(err, NotFound)
	_, err = h.ids.Logins.Login(h.ctx, "elsewhere", credential("anna"), true)
	h.refused(err, ProviderDisabled)

	h.must(h.ids.Logins.Unlink(h.ctx, who, "id"))
	_, err = h.ids.Tokens.Check(in.AccessToken) // its login was by an account that is not linked any more
	h.refused(err, TokenInvalid)
	only, err := h.ids.Logins.Login(h.ctx, "id", credential("carl"), true)
	h.must(err)
	who, err = h.ids.Tokens.Check(only.AccessToken)
	h.must(err)
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
		_, err := h.ids.Logins.Link(h.ctx, mine, "id", c)
		h.must(err)
	}
	for _, c := range []Credential{first, second} {
		_, err := h.ids.Logins.Login(h.ctx, "id", c, false)
		h.refused(err, ProviderInvalid)
	}
	h.must(h.ids.Logins.Unlink(h.ctx, mine, "id"))
	for _, c := range []Credential{first, second} {
		_, err := h.ids.Logins.Link(h.ctx, thief, "id", c)
		h.refused(err, ProviderInvalid)
	}
	h.reopen()
}

// A login that was ended as stolen links nothing.
func TestLink_NotByALoginThatEnded(t *testing.T) {
	t.Parallel()
	inHouse(t, withOIDC(), func(h *house) {
		s := h.guest()
		who := h.who(s)
		_, err := h.ids.Tokens.Refresh(h.ctx, s.RefreshToken)
		h.must(err)
		settle(time.Minute)
		_, err = h.ids.Tokens.Refresh(h.ctx, s.RefreshToken)
		h.refused(err, RefreshReused)
		_, err = h.ids.Logins.Link(h.ctx, who, "id", h.credential("anna")) // the token was checked before that
		h.refused(err, TokenInvalid)
	})
}

// Of two players who link one account at the same time, one succeeds.
func TestLink_AtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, withOIDC())
	var got [6]error
	var all sync.WaitGroup
	for i := range got {
		who, err := h.ids.Tokens.Check(h.guest().AccessToken)
		h.must(err)
		c := Credential{Token: h.world.op.token(h.world.op.claims("anna")), Nonce: "n-1"}
		all.Go(func() { _, got[i] = h.ids.Logins.Link(h.ctx, who, "id", c) })
	}
	all.Wait()
	won := 0
	for _, err := range got {
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
		who, err := h.ids.Tokens.Check(s.AccessToken)
		h.must(err)
		_, err = h.ids.Logins.Link(h.ctx, who, "id", Credential{Token: h.world.op.token(h.world.op.claims("anna")), Nonce: "n-1"})
		h.refused(err, ReauthRequired)
		h.refused(h.ids.Accounts.Delete(h.ctx, who), ReauthRequired)
		refreshed, err := h.ids.Tokens.Refresh(h.ctx, s.RefreshToken) // is not a login
		h.must(err)
		who, err = h.ids.Tokens.Check(refreshed.AccessToken)
		h.must(err)
		h.refused(h.ids.Logins.Unlink(h.ctx, who, "id"), ReauthRequired)
	})
}

func TestBan(t *testing.T) {
	t.Parallel()
	inHouse(t, Options{}, func(h *house) {
		s := h.guest()
		h.must(h.ids.Accounts.Ban(h.ctx, s.PlayerID, "cheated", time.Now().Add(time.Hour)))
		_, err := h.ids.Tokens.Check(s.AccessToken)
		h.refused(err, TokenInvalid)
		_, err = h.ids.Tokens.Refresh(h.ctx, s.RefreshToken)
		h.refused(err, RefreshInvalid)
		_, err = h.ids.Logins.LoginGuest(h.ctx, s.PlayerID, s.GuestSecret)
		h.refused(err, Banned)
		h.reopen()
		settle(time.Hour)
		_, err = h.ids.Logins.LoginGuest(h.ctx, s.PlayerID, s.GuestSecret)
		h.must(err)
	})
}

func TestDelete(t *testing.T) {
	t.Parallel()
	h := newHouse(t, withOIDC())
	s := h.guest()
	who, err := h.ids.Tokens.Check(s.AccessToken)
	h.must(err)
	_, err = h.ids.Data.Put(h.ctx, s.PlayerID, Private, "save", []byte(`1`), Expect{})
	h.must(err)
	_, err = h.ids.Logins.Link(h.ctx, who, "id", Credential{Token: h.world.op.token(h.world.op.claims("anna")), Nonce: "n-1"})
	h.must(err)
	h.must(h.ids.Accounts.Delete(h.ctx, who))
	_, err = h.ids.Tokens.Check(s.AccessToken)
	h.refused(err, TokenInvalid)
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
	_, err := h.ids.Data.Put(h.ctx, s.PlayerID, Private, "save", []byte(`1`), Expect{Version: 1})
	h.refused(err, VersionConflict)
}

func TestData_IsBounded(t *testing.T) {
	t.Parallel()
	h := newHouse(t, Options{})
	s := h.guest()
	big := []byte(`"` + strings.Repeat("x", MaxValue-2) + `"`)
	for i := range MaxNamespace / MaxValue {
		_, err := h.ids.Data.Put(h.ctx, s.PlayerID, Public, fmt.Sprint("big", i), big, Expect{})
		h.must(err)
	}
	_, err := h.ids.Data.Put(h.ctx, s.PlayerID, Public, "more", big, Expect{})
	h.refused(err, Invalid)
	_, err = h.ids.Data.Put(h.ctx, s.PlayerID, Public, "big0", big, Expect{}) // replaces
	h.must(err)
	for i := range MaxKeys {
		_, err := h.ids.Data.Put(h.ctx, s.PlayerID, Private, fmt.Sprint("k", i), []byte("1"), Expect{})
		h.must(err)
	}
	_, err = h.ids.Data.Put(h.ctx, s.PlayerID, Private, "more", []byte("1"), Expect{})
	h.refused(err, Invalid)
	all, err := h.ids.Data.All(s.PlayerID, Private)
	h.must(err)
	if len(all) != MaxKeys {
		t.Errorf("got %d values, want %d", len(all), MaxKeys)
	}
}
