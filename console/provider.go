package console

import (
	"net/http"
	"strings"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/limit"
)

// Callback is the path to which an identity provider sends people back.
const Callback = "/console/api/login/callback"

// Provider has the functions with which people log in with an account of an identity
// provider.
type Provider struct {
	Name string // for people
	// Patience is how long somebody may take there.
	Patience time.Duration
	// Begin returns the URL at the provider, and what the browser has to keep for Finish. to
	// is the page to return to, as the browser says it.
	Begin func(r *http.Request, to string) (at, kept string, err error)
	// Finish ends a login with the request with which the browser comes back. to is the
	// path of a page of the console, even if there is an error.
	Finish func(r *http.Request, kept string) (token string, l auth.Login, to string, err error)
	// Seal and Open keep a text from being read and made by others; Open returns "" for a
	// text that Seal has not returned.
	Seal, Open func(text string) string
}

const (
	// problemAge is how long, in seconds, the login form has to ask why an attempt failed.
	problemAge = 60
	// maxProblem is the most bytes of the reason, which travels in a cookie.
	maxProblem = 2000
)

// away and problem return the names of the cookies of a login with the provider: of the state
// kept until its answer, and of why the last one failed. With TLS a browser accepts the first
// from this host only, so that no other host of the domain can make somebody complete a login
// that it began.
func (p *People) away(r *http.Request) string {
	if p.Secure(r) {
		return "__Host-" + p.Cookie + "_away"
	}
	return p.Cookie + "_away"
}

func (p *People) problem() string { return p.Cookie + "_problem" }

// brief returns a cookie of a login with the provider; a negative age removes it. Back from
// the provider, the browser sends only cookies that are not strict.
func (p *People) brief(r *http.Request, name, value string, age int, site http.SameSite) *http.Cookie {
	return &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: p.Secure(r), SameSite: site}
}

// ways answers how one can log in, and why the last attempt failed: once.
func (c *Console) ways(w http.ResponseWriter, r *http.Request, p *People) {
	type provider struct {
		Name string `json:"name"`
	}
	var out struct {
		Provider *provider `json:"provider,omitempty"`
		Problem  string    `json:"problem,omitempty"`
	}
	if p.Provider != nil {
		out.Provider = &provider{p.Provider.Name}
		if kept, err := r.Cookie(p.problem()); err == nil && kept.Value != "" {
			out.Problem = p.Provider.Open(kept.Value)
			http.SetCookie(w, p.brief(r, p.problem(), "", -1, http.SameSiteStrictMode))
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	c.answer(w, out, nil)
}

// leave begins a login with the provider. Only a page of this server can send such a
// request: others cannot set the type of its body.
func (c *Console) leave(w http.ResponseWriter, r *http.Request, p *People) {
	var in struct {
		To string `json:"to"`
	}
	typed, err := readLogin(w, r, &in)
	if !typed {
		return
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, `the body must be {"to": "…"}: the path of the page to return to`)
		return
	}
	at, kept, err := p.Provider.Begin(r, in.To)
	if c.denied(w, err) {
		return
	}
	http.SetCookie(w, p.brief(r, p.away(r), kept, int(p.Provider.Patience.Seconds()), http.SameSiteLaxMode))
	w.Header().Set("Cache-Control", "no-store")
	c.answer(w, map[string]string{"url": at}, nil)
}

// comeBack ends a login with the provider. It always answers with a way to a page, which
// then asks with the new cookie: this request comes from another site, but that page's
// requests do not. The page also asks why a login failed, so that no address can make it
// show a text.
func (c *Console) comeBack(w http.ResponseWriter, r *http.Request, p *People) {
	kept := ""
	if cookie, err := r.Cookie(p.away(r)); err == nil {
		kept = cookie.Value
	}
	token, l, to, err := p.Provider.Finish(r, kept)
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer") // the address has the code
	if kept != "" {
		http.SetCookie(w, p.brief(r, p.away(r), "", -1, http.SameSiteLaxMode))
	}
	if err != nil {
		text := "internal failure"
		if f, ok := fault.As(err); ok {
			text = f.Message
		} else {
			c.opts.Logger.Error("console login not finished", "error", err)
		}
		limit.Advise(h, err)
		http.SetCookie(w, p.brief(r, p.problem(), p.Provider.Seal(strings.ToValidUTF8(text[:min(len(text), maxProblem)], "")), problemAge, http.SameSiteStrictMode))
	} else {
		http.SetCookie(w, p.cookie(r, token, int(time.Until(l.Expires).Seconds())))
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}
