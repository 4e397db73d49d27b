package app

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/auth/oidc"
	"github.com/musterhq/muster/console"
	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/fault"
)

// addProvider creates the identity provider for people at the console, if there is one. The
// error names what is misconfigured.
func (d *domain) addProvider(o *Options, f *front) (err error) {
	if !o.OIDC.Enabled() || f == nil {
		return nil
	}
	d.oidc, err = oidc.New(o.OIDC, oidc.Options{
		Sealer: d.master, Redirect: func() string { return f.site.URL() + console.Callback }, Logger: o.Logger,
	})
	if err == nil {
		d.keys.Logins.SetRules(d.oidc.Rule)
	}
	return err
}

// validateOIDC returns an error in the terms of the command line.
func (o *Options) validateOIDC() error {
	if o.OIDC.Enabled() && o.AcceptAny {
		return fmt.Errorf("oidc-issuer: nobody logs in to a server that accepts any credentials; leave it out, or say --no-accept-any-credentials")
	}
	if c := &o.OIDC; !c.Enabled() && (c.ClientID != "" || c.ClientSecret != "" || len(c.Rules) > 0) {
		return fmt.Errorf("oidc-issuer: is missing, and the other oidc-… options mean nothing without it; give the provider's URL")
	}
	return nil
}

// problemLabel is what the texts of the console's Provider are sealed for.
const problemLabel = "console login problem"

// provider returns what the console needs of the identity provider; nil if there is none.
func (d *domain) provider(o *Options, at *site) *console.Provider {
	if d.oidc == nil {
		return nil
	}
	o.Logger.Info("people log in to the console with an identity provider, which must know the redirect URI", "issuer", o.OIDC.Issuer, "redirect_uri", at.URL()+console.Callback)
	return &console.Provider{
		Name: d.oidc.Name(), Patience: oidc.Patience,
		Begin: func(r *http.Request, to string) (string, string, error) {
			if err := d.callers.limits.login(r); err != nil {
				return "", "", err
			}
			if from := r.Header.Get("Origin"); from != "" && !sameOrigin(from, at.URL()) {
				return "", "", fault.Invalid("the provider sends people back to %s, and this page is of %s: open the console at %s/console/, or have an administrator correct --public-url", at.URL(), from, at.URL())
			}
			return d.oidc.Begin(r.Context(), to)
		},
		Finish: func(r *http.Request, kept string) (string, auth.Login, string, error) {
			if err := d.callers.limits.login(r); err != nil {
				return "", auth.Login{}, "/console/", err
			}
			answer, err := d.oidc.Finish(r.Context(), kept, r.URL.Query())
			token, l, err := d.admit(r, &answer, err)
			return token, l, answer.To, err
		},
		Seal: func(text string) string {
			return base64.RawURLEncoding.EncodeToString(d.master.Seal(text, problemLabel))
		},
		Open: func(text string) string {
			sealed, err := base64.RawURLEncoding.DecodeString(text)
			if err != nil {
				return ""
			}
			text, _ = d.master.Open(sealed, problemLabel)
			return text
		},
	}
}

// admit begins a login for a person whom the provider has confirmed, unless there is an
// error. The audit log gets both.
func (d *domain) admit(r *http.Request, a *oidc.Answer, err error) (string, auth.Login, error) {
	request := audit.From(r.Context())
	who := auth.Caller{KeyID: a.Person.ID(), Name: a.Person.Name, Person: true}
	if a.Person.Subject != "" {
		who.Role, who.Scope, _ = d.oidc.Rule(a.Person.Rule)
		request.SetCaller(who, auth.LogIn)
	}
	var token string
	var l auth.Login
	if err == nil {
		token, l, err = d.keys.Logins.BeginPerson(r.Context(), a.Person, d.oidc.Lifetime(), addressOf(r))
	}
	if err != nil {
		return "", l, d.callers.failed(r, auth.LogIn, err)
	}
	door.Known(r)
	return token, l, nil
}

// sameOrigin reports whether an Origin header names the origin of a base URL.
func sameOrigin(origin, base string) bool {
	plain := func(text string) string {
		u, err := url.Parse(text)
		if err != nil {
			return ""
		}
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
	}
	return plain(origin) == plain(base)
}
