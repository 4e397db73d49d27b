package identity

import (
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/internal/refusal"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

// A token that was verified before is refused as soon as it is revoked: by its text, and by
// what a connection keeps of it.
func TestCheck_RevokedImmediately(t *testing.T) {
	t.Parallel()
	key := func(h *house) *SigningKey { return h.ids.Tokens.Keys.active(h.st.View(), time.Now()) }
	update := func(h *house, f func(tx *store.Tx, keys *Keys)) {
		h.must(h.st.Update(h.ctx, func(tx *store.Tx) error { f(tx, h.ids.Tokens.Keys); return nil }))
	}
	for name, c := range map[string]struct {
		revoke func(*house, *Session)
		want   refusal.Code
	}{
		"logout": {func(h *house, s *Session) { h.must(h.ids.Tokens.Logout(h.ctx, s.RefreshToken)) }, TokenInvalid},
		"logout everywhere": {func(h *house, s *Session) {
			h.must(h.ids.Tokens.LogoutAccess(h.ctx, Claims{PlayerID: s.PlayerID}, true))
		}, TokenInvalid},
		"ban": {func(h *house, s *Session) {
			h.must(h.ids.Accounts.Ban(h.ctx, s.PlayerID, "cheats", time.Now().Add(time.Hour)))
		}, TokenInvalid},
		"theft": {func(h *house, s *Session) {
			h.must(h.refresh(s.RefreshToken))
			settle(time.Minute)
			h.refused(h.refresh(s.RefreshToken), RefreshReused)
		}, TokenInvalid},
		"deletion": {func(h *house, s *Session) {
			h.must(h.ids.Accounts.Delete(h.ctx, Claims{PlayerID: s.PlayerID, Login: time.Now()}))
		}, TokenInvalid},
		"key removed": {func(h *house, _ *Session) {
			update(h, func(tx *store.Tx, keys *Keys) { keys.remove(tx, key(h)) })
		}, TokenInvalid},
		"key replaced": {func(h *house, _ *Session) {
			other, err := h.ids.Tokens.Keys.create()
			h.must(err)
			k := *key(h)
			k.Public = other.Public
			update(h, func(tx *store.Tx, keys *Keys) { keys.remove(tx, &k) })
			update(h, func(tx *store.Tx, keys *Keys) { keys.table.Put(tx, &k) })
		}, TokenInvalid},
		"expired": {func(*house, *Session) { settle(15*time.Minute + leeway + time.Second) }, TokenExpired},
	} {
		inHouse(t, Options{}, func(h *house) {
			s := h.guest()
			a, err := h.ids.Tokens.Verify(s.AccessToken)
			h.must(err)
			h.must(h.check(s.AccessToken))
			c.revoke(h, s)
			if _, err := h.ids.Tokens.Check(s.AccessToken); !refusal.Is(err, c.want) {
				t.Errorf("%s: got %v, want %s", name, err, c.want)
			}
			if _, err := h.ids.Tokens.Current(a); !refusal.Is(err, c.want) {
				t.Errorf("%s, on a connection: got %v, want %s", name, err, c.want)
			}
		})
	}
}

// A token is verified once, also after a restart.
func TestVerify_Remembers(t *testing.T) {
	t.Parallel()
	inHouse(t, Options{}, func(h *house) {
		s := h.guest()
		for _, reopens := range []bool{false, true} {
			if reopens {
				h.reopen()
			}
			first, err := h.ids.Tokens.Verify(s.AccessToken)
			h.must(err)
			if again, err := h.ids.Tokens.Verify(s.AccessToken); err != nil || again != first {
				t.Errorf("verified twice: %v", err)
			}
			got, err := h.ids.Tokens.Current(first)
			h.must(err)
			if got.PlayerID != s.PlayerID || got.Scope != ScopeGuest || got.Method != Guest || got.Expires.Unix() != s.AccessExpires.Unix() || time.Since(got.Login) > time.Second {
				t.Errorf("got %+v of %+v", got, s)
			}
		}
		if _, err := h.ids.Tokens.Verify(s.AccessToken + "A"); !refusal.Is(err, TokenInvalid) {
			t.Errorf("a longer text: %v", err)
		}
	})
}

// Tokens in use stay; the memory for all of them is bounded, and unused ones are dropped.
func TestVerified_Bounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v, used, start := verified{life: 15 * time.Minute}, &Access{}, time.Now()
		name := func(n int) (d digest) { binary.BigEndian.PutUint64(d[:], uint64(n)); return d }
		v.put(name(0), used, start)
		for i := range 3 * mostVerified {
			v.put(name(i+1), &Access{}, start)
			if n := len(v.young) + len(v.old); n > 2*mostVerified {
				t.Fatalf("%d tokens are kept", n)
			}
			if i%1000 == 0 && v.get(name(0), start) != used {
				t.Fatalf("a token in use was dropped after %d others", i)
			}
		}
		for range 2 {
			wait.Pass(15 * time.Minute)
			v.put(name(0), used, time.Now())
		}
		if len(v.young)+len(v.old) != 2 {
			t.Errorf("%d and %d tokens are kept that nobody used for as long as they last", len(v.young), len(v.old))
		}
	})
}
