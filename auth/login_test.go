package auth_test

import (
	"context"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/wait"
)

// login logs in, and returns the token.
func (h *house) login(id, secret string) string {
	h.Helper()
	c, err := h.Prove(id, secret)
	if err != nil {
		h.Fatal(err)
	}
	token, l, err := h.Logins.Begin(context.Background(), c, "192.0.2.1")
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
		admin := h.create(auth.Spec{Name: "first", Role: auth.Admin})
		key := h.create(auth.Spec{Name: "support", Role: auth.ReadOnly})
		for name, secret := range map[string]string{"no": "", "another key's": admin.SecretAccessKey, "a longer": key.SecretAccessKey + "x"} {
			_, err := h.Prove(key.AccessKeyID, secret)
			h.refused(name+" secret", err, fault.UnrecognizedClient, "wrong")
		}
		_, err := h.Prove("MSTRNOBODY", "")
		h.refused("an unknown key without a secret", err, fault.UnrecognizedClient, "wrong")

		first, second := h.login(key.AccessKeyID, key.SecretAccessKey), h.login(key.AccessKeyID, key.SecretAccessKey)
		if first == second {
			t.Error("two logins have the same token")
		}
		_, caller, err := h.Logins.Of(first)
		if err != nil || caller.KeyID != key.AccessKeyID || caller.Role != auth.ReadOnly {
			t.Errorf("the login's caller is %+v, %v", caller, err)
		}
		if err := h.Logins.End(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		_, _, err = h.Logins.Of(first)
		h.refused("a login that has ended", err, fault.UnrecognizedClient, "log in again")

		if _, err := h.SetEnabled(t.Context(), key.AccessKeyID, false); err != nil {
			t.Fatal(err)
		}
		if _, err := h.SetEnabled(t.Context(), key.AccessKeyID, true); err != nil {
			t.Fatal(err)
		}
		_, _, err = h.Logins.Of(second)
		h.refused("a login of a key that was disabled meanwhile", err, fault.UnrecognizedClient, "log in again")

		third := h.login(key.AccessKeyID, key.SecretAccessKey)
		wait.Pass(auth.LoginLifetime - time.Second)
		if _, _, err := h.Logins.Of(third); err != nil {
			t.Errorf("a login ended early: %v", err)
		}
		wait.Pass(time.Second)
		_, _, err = h.Logins.Of(third)
		h.refused("a login that has expired", err, fault.UnrecognizedClient, "log in again")

		fourth := h.login(key.AccessKeyID, key.SecretAccessKey)
		if err := h.Delete.Do(t.Context(), key.AccessKeyID); err != nil {
			t.Fatal(err)
		}
		_, _, err = h.Logins.Of(fourth)
		h.refused("a login of a deleted key", err, fault.UnrecognizedClient, "log in again")
	})
}

// An administrator sees who is logged in, and ends a login, or all of a key or a person.
func TestEndLogins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.Logins.SetRules(func(string) (auth.Role, auth.Scope, bool) { return auth.Operator, auth.Scope{}, true })
		var revoked []string
		h.OnRevoked(func(id string) { revoked = append(revoked, id) })
		key := h.create(auth.Spec{Name: "support", Role: auth.ReadOnly})
		tokens := map[string]string{}
		for _, name := range []string{"key 1", "key 2", "key 3"} {
			tokens[name] = h.login(key.AccessKeyID, key.SecretAccessKey)
			wait.Pass(time.Second)
		}
		for i, name := range []string{"ada 1", "ada 2"} {
			tokens[name] = h.person(ada(i))
			wait.Pass(time.Second)
		}
		names := map[string]string{} // of logins
		for name, token := range tokens {
			l, _, err := h.Logins.Of(token)
			if err != nil {
				t.Fatal(err)
			}
			names[name] = l.Name()
		}
		expect := func(when string, want ...string) {
			t.Helper()
			var got []string
			for l, c := range h.Logins.All(h.st.View()) {
				for name := range names {
					if names[name] == l.Name() {
						got = append(got, name)
					}
				}
				if c.Role == "" || c.KeyID != l.KeyID {
					t.Errorf("%s: the caller of %s is %+v", when, l.Name(), c)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: logged in are %q, want %q", when, got, want)
			}
			for name, token := range tokens {
				if _, _, err := h.Logins.Of(token); (err == nil) != slices.Contains(want, name) {
					t.Errorf("%s: %s: %v", when, name, err)
				}
			}
		}
		expect("at first", "key 1", "key 2", "key 3", "ada 1", "ada 2")
		end := func(id string, want int) {
			t.Helper()
			if n, err := h.Logins.EndOf.Do(t.Context(), id); n != want || err != nil {
				t.Errorf("ending those of %s: %d, %v", id, n, err)
			}
		}
		end(names["key 2"], 1)
		expect("one of the key ended", "key 1", "key 3", "ada 1", "ada 2")
		end(names["ada 1"], 1)
		expect("one of the person ended", "key 1", "key 3", "ada 2")
		end(key.AccessKeyID, 2)
		expect("those of the key ended", "ada 2")
		_, err := h.Logins.EndOf.Do(t.Context(), key.AccessKeyID)
		h.refused("ending none", err, fault.NotFound, "muster admin logins list")
		if c, err := h.Caller(key.AccessKeyID); err != nil || c.KeyID != key.AccessKeyID {
			t.Errorf("the key itself: %+v, %v", c, err)
		}
		person := ada(0)
		end(person.ID(), 1)
		expect("those of the person ended")
		if want := []string{person.ID(), person.ID()}; !slices.Equal(revoked, want) {
			t.Errorf("told of %q, want %q", revoked, want)
		}
	})
}

// When a login was last used is kept as long as the login.
func TestLogin_LastUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		key := h.create(auth.Spec{Name: "support", Role: auth.ReadOnly})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go h.Service.Run(ctx)
		l, _, err := h.Logins.Of(h.login(key.AccessKeyID, key.SecretAccessKey))
		if err != nil {
			t.Fatal(err)
		}
		wait.Pass(time.Minute)
		used := time.Now()
		h.Logins.Used(&l)
		wait.Pass(time.Hour)
		for _, id := range []string{l.ID, key.AccessKeyID} {
			if got := h.LastUse(h.st.View(), id); !got.Equal(used) {
				t.Errorf("%s was last used at %v, want %v", id, got, used)
			}
		}
		if _, err := h.Logins.EndOf.Do(t.Context(), l.Name()); err != nil {
			t.Fatal(err)
		}
		wait.Pass(time.Hour)
		if got := h.LastUse(h.st.View(), l.ID); !got.IsZero() {
			t.Errorf("a login that has ended was last used at %v", got)
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
