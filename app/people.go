package app

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/console"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/door"
)

// described returns the API's operations, which never change.
var described = sync.OnceValue(operations)

// people returns what the console needs for those who use it.
func (d *domain) people(o *Options, at *site) console.People {
	actions := []auth.Action{
		auth.JoinHost, auth.ReadHosts, auth.ManageHosts, auth.ManageKeys, auth.ReadAudit,
		auth.ReadPlayerData, auth.WritePlayerData, auth.ReadPlayerSessionIDs, auth.BanPlayer, auth.OpenShell,
	}
	for _, op := range gamelift.API().Operations {
		actions = append(actions, auth.Action(op.Name))
	}
	return console.People{
		Region: o.Region, Account: o.home().Account, Actions: actions, Cookie: d.master.LoginCookie(),
		Secure: func(r *http.Request) bool { return r.TLS != nil || strings.HasPrefix(at.URL(), "https:") },
		LogIn: func(r *http.Request, keyID, secret string) (string, auth.Login, error) {
			caller, err := d.keys.Prove(keyID, secret)
			if err != nil {
				return "", auth.Login{}, d.callers.failed(r, auth.LogIn, err)
			}
			audit.From(r.Context()).SetCaller(caller, auth.LogIn)
			door.Known(r)
			return d.keys.LogIn(r.Context(), caller)
		},
		Provider:   d.provider(o, at),
		LogOut:     func(ctx context.Context, token string) error { return d.keys.LogOut(ctx, token) },
		Who:        d.callers.who,
		Operations: func() any { return described() },
	}
}

// who returns the sender of a request whatever its role is. csrf and expires are of its
// login to the console, if it has one.
func (c *callers) who(r *http.Request, action auth.Action) (caller auth.Caller, csrf string, expires time.Time, err error) {
	p, proof, err := c.authenticate(r, action)
	if err == nil {
		err = proof(nil)
	}
	if err != nil {
		return auth.Caller{}, "", time.Time{}, err
	}
	caller = callerOf(p)
	audit.From(r.Context()).SetCaller(caller, action)
	door.Known(r)
	if token, err := c.master.FromCookie(r); err == nil && token != "" {
		if l, _, err := c.signed.keys.LoggedIn(token); err == nil {
			csrf, expires = c.master.CSRF(token), l.Expires
		}
	}
	return caller, csrf, expires, c.limits.Key(caller)
}
