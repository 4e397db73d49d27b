package console

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/musterhq/muster/auth"
)

// People has the functions with which people use the console.
type People struct {
	Region, Account string
	// Regions are all regions of the deployment, the home region first; nil: there is one.
	Regions []string
	// Actions are the actions that a page shows buttons for, if the caller's role allows
	// them.
	Actions []auth.Action
	// Cookie is the name of the cookie with a login's token.
	Cookie string
	// Secure reports whether the cookie of a request must be sent by TLS only.
	Secure func(r *http.Request) bool
	// LogIn begins a login with an access key; it counts wrong ones.
	LogIn func(r *http.Request, keyID, secret string) (token string, l auth.Login, err error)
	// Provider is the identity provider with which people may log in instead; nil: none.
	Provider *Provider
	// LogOut ends the login with a token, if there is one.
	LogOut func(ctx context.Context, token string) error
	// Who returns the sender of a request, whatever its role, and its login, if it has one.
	// action is for the audit log.
	Who func(r *http.Request, action auth.Action) (auth.Caller, Login, error)
	// Operations returns a description of the API's operations, sent as JSON.
	Operations func() any
}

// Login is what a page may know of its own login; the zero Login is none.
type Login struct {
	Name    string // as administrators see it
	CSRF    string // for auth.CSRFHeader
	Expires time.Time
}

// maxLogin is the most bytes of a request to log in.
const maxLogin = 4 << 10

// me is the answer to a page that asks whose console it is.
type me struct {
	Local   bool          `json:"local"`            // the server requires no credentials
	KeyID   string        `json:"key_id,omitempty"` // or the id of a person
	Person  bool          `json:"person,omitempty"` // has no key, but an account of the identity provider
	Name    string        `json:"name"`
	Role    auth.Role     `json:"role"`
	Scope   string        `json:"scope,omitempty"`
	Region  string        `json:"region"`
	Regions []string      `json:"regions,omitempty"` // all, if there are several
	Account string        `json:"account"`
	Login   string        `json:"login,omitempty"`  // the name of the login
	Expires time.Time     `json:"expires,omitzero"` // of the login
	CSRF    string        `json:"csrf,omitempty"`   // for auth.CSRFHeader
	May     []auth.Action `json:"may"`
	Now     time.Time     `json:"now"`
}

// People adds these routes, and must be called before the console serves requests:
//
//	GET    /console/api/me       returns whose console it is, and what the caller may do
//	POST   /console/api/login    {"key_id", "secret"}: sets the cookie of a login
//	GET    /console/api/login    returns how one can log in, and why the last attempt failed
//	DELETE /console/api/login    ends the login
//	POST   /console/api/login/provider   {"to"}: returns the URL at the identity provider
//	GET    /console/api/login/callback   where that sends people back to
//	GET    /console/api/operations   describes the API's operations
func (c *Console) People(p People) {
	c.mux.HandleFunc("GET /console/api/me", func(w http.ResponseWriter, r *http.Request) {
		caller, login, err := p.Who(r, auth.UseConsole)
		if c.denied(w, err) {
			return
		}
		m := me{
			Local: caller.Local, KeyID: caller.KeyID, Person: caller.Person, Name: caller.Name, Role: caller.Role, Region: p.Region, Regions: p.Regions, Account: p.Account,
			Login: login.Name, Expires: login.Expires, CSRF: login.CSRF, May: []auth.Action{}, Now: time.Now(),
		}
		if caller.Scoped() {
			m.Scope = caller.Scope.String()
		}
		for _, a := range p.Actions {
			if caller.Has(a) == nil {
				m.May = append(m.May, a)
			}
		}
		c.answer(w, m, nil)
	})
	c.mux.HandleFunc("GET /console/api/operations", func(w http.ResponseWriter, r *http.Request) {
		if _, _, err := p.Who(r, auth.UseConsole); !c.denied(w, err) {
			c.answer(w, p.Operations(), nil)
		}
	})
	c.mux.HandleFunc("POST /console/api/login", func(w http.ResponseWriter, r *http.Request) { c.logIn(w, r, &p) })
	c.mux.HandleFunc("GET /console/api/login", func(w http.ResponseWriter, r *http.Request) { c.ways(w, r, &p) })
	if p.Provider != nil {
		c.mux.HandleFunc("POST /console/api/login/provider", func(w http.ResponseWriter, r *http.Request) { c.leave(w, r, &p) })
		c.mux.HandleFunc("GET "+Callback, func(w http.ResponseWriter, r *http.Request) { c.comeBack(w, r, &p) })
	}
	c.mux.HandleFunc("DELETE /console/api/login", func(w http.ResponseWriter, r *http.Request) {
		if _, _, err := p.Who(r, auth.LogOut); c.denied(w, err) {
			return
		}
		if cookie, err := r.Cookie(p.Cookie); err == nil {
			if err := p.LogOut(r.Context(), cookie.Value); c.denied(w, err) {
				return
			}
		}
		http.SetCookie(w, p.cookie(r, "", -1))
		w.WriteHeader(http.StatusNoContent)
	})
}

// logIn begins a login. Only a page of this server can send such a request: others cannot
// set the type of its body.
func (c *Console) logIn(w http.ResponseWriter, r *http.Request, p *People) {
	var in struct {
		KeyID  string `json:"key_id"`
		Secret string `json:"secret"`
	}
	typed, err := readLogin(w, r, &in)
	if !typed {
		return
	}
	if err != nil || in.KeyID == "" || in.Secret == "" {
		refuse(w, http.StatusBadRequest, `the body must be {"key_id": "…", "secret": "…"}: an access key of this server`)
		return
	}
	token, l, err := p.LogIn(r, in.KeyID, in.Secret)
	if err != nil {
		c.denied(w, err)
		return
	}
	http.SetCookie(w, p.cookie(r, token, int(time.Until(l.Expires).Seconds())))
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}

// readLogin decodes the body of a request to log in. If its type is wrong, it answers, and
// typed is false.
func readLogin(w http.ResponseWriter, r *http.Request, in any) (typed bool, err error) {
	if r.Header.Get("Content-Type") != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "Content-Type: must be application/json")
		return false, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLogin))
	if err == nil {
		err = json.Unmarshal(body, in)
	}
	return true, err
}

// cookie returns the cookie of a login; a negative age removes it.
func (p *People) cookie(r *http.Request, token string, age int) *http.Cookie {
	return &http.Cookie{
		Name: p.Cookie, Value: token, Path: "/", MaxAge: age,
		HttpOnly: true, Secure: p.Secure(r), SameSite: http.SameSiteStrictMode,
	}
}
