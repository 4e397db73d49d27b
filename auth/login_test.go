package auth_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/fault"
)

// login logs in, and returns the token.
func (h *house) login(id, secret string) string {
	h.Helper()
	c, err := h.Prove(id, secret)
	if err != nil {
		h.Fatal(err)
	}
	token, l, err := h.LogIn(context.Background(), c)
	if err != nil {
		h.Fatal(err)
	}
	if l.KeyID != id || l.Expires.Sub(l.Created) != auth.LoginLifetime {
		h.Errorf("login %+v of key %s", l, id)
	}
	return token
}

func TestLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		admin, err := h.Create(t.Context(), auth.Spec{Name: "first", Role: auth.Admin})
		if err != nil {
			t.Fatal(err)
		}
		key, err := h.Create(t.Context(), auth.Spec{Name: "support", Role: auth.ReadOnly})
		if err != nil {
			t.Fatal(err)
		}
		for name, secret := range map[string]string{"no": "", "another key's": admin.SecretAccessKey, "a longer": key.SecretAccessKey + "x"} {
			_, err := h.Prove(key.AccessKeyID, secret)
			h.refused(name+" secret", err, fault.UnrecognizedClient, "wrong")
		}
		_, err = h.Prove("MSTRNOBODY", "")
		h.refused("an unknown key without a secret", err, fault.UnrecognizedClient, "wrong")

		first, second := h.login(key.AccessKeyID, key.SecretAccessKey), h.login(key.AccessKeyID, key.SecretAccessKey)
		if first == second {
			t.Error("two logins have the same token")
		}
		_, caller, err := h.LoggedIn(first)
		if err != nil || caller.KeyID != key.AccessKeyID || caller.Role != auth.ReadOnly {
			t.Errorf("the login's caller is %+v, %v", caller, err)
		}
		if err := h.LogOut(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		_, _, err = h.LoggedIn(first)
		h.refused("a login that has ended", err, fault.UnrecognizedClient, "log in again")

		if _, err := h.SetEnabled(t.Context(), key.AccessKeyID, false); err != nil {
			t.Fatal(err)
		}
		if _, err := h.SetEnabled(t.Context(), key.AccessKeyID, true); err != nil {
			t.Fatal(err)
		}
		_, _, err = h.LoggedIn(second)
		h.refused("a login of a key that was disabled meanwhile", err, fault.UnrecognizedClient, "log in again")

		third := h.login(key.AccessKeyID, key.SecretAccessKey)
		time.Sleep(auth.LoginLifetime - time.Second)
		if _, _, err := h.LoggedIn(third); err != nil {
			t.Errorf("a login ended early: %v", err)
		}
		time.Sleep(time.Second)
		_, _, err = h.LoggedIn(third)
		h.refused("a login that has expired", err, fault.UnrecognizedClient, "log in again")

		fourth := h.login(key.AccessKeyID, key.SecretAccessKey)
		if err := h.Delete.Do(t.Context(), key.AccessKeyID); err != nil {
			t.Fatal(err)
		}
		_, _, err = h.LoggedIn(fourth)
		h.refused("a login of a deleted key", err, fault.UnrecognizedClient, "log in again")
	})
}

// A key has 16 logins at most: another ends the oldest.
func TestLogin_Bounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		key, err := h.Create(t.Context(), auth.Spec{Name: "support", Role: auth.ReadOnly})
		if err != nil {
			t.Fatal(err)
		}
		var tokens []string
		for range 17 {
			tokens = append(tokens, h.login(key.AccessKeyID, key.SecretAccessKey))
			time.Sleep(time.Second)
		}
		for i, token := range tokens {
			if _, _, err := h.LoggedIn(token); (err == nil) != (i > 0) {
				t.Errorf("login %d: %v", i, err)
			}
		}
	})
}

// A request may change something by its cookie only if its page could read the login.
func TestFromCookie(t *testing.T) {
	t.Parallel()
	m, err := auth.NewMaster(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	const token = "t0ken"
	for name, c := range map[string]struct {
		method, cookie, csrf, site, authorization string
		token                                     string
		refused                                   bool
	}{
		"reads":                    {method: "GET", cookie: token, token: token},
		"changes":                  {method: "POST", cookie: token, csrf: m.CSRF(token), site: "same-origin", token: token},
		"changes without a proof":  {method: "POST", cookie: token, refused: true},
		"with another login's":     {method: "DELETE", cookie: token, csrf: m.CSRF("another"), refused: true},
		"from a page of elsewhere": {method: "POST", cookie: token, csrf: m.CSRF(token), site: "cross-site", refused: true},
		"read from a sister site":  {method: "GET", cookie: token, site: "same-site", refused: true},
		"signed":                   {method: "POST", cookie: token, authorization: "AWS4-HMAC-SHA256 …"},
		"no cookie":                {method: "POST"},
	} {
		r := httptest.NewRequest(c.method, "/", nil)
		if c.cookie != "" {
			r.Header.Set("Cookie", m.LoginCookie()+"="+c.cookie)
		}
		for header, value := range map[string]string{auth.CSRFHeader: c.csrf, "Sec-Fetch-Site": c.site, "Authorization": c.authorization} {
			if value != "" {
				r.Header.Set(header, value)
			}
		}
		got, err := m.FromCookie(r)
		if got != c.token || (err != nil) != c.refused {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
