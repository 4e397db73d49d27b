package app

import (
	"context"
	"net/http"
	"strings"
	"sync"

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
		auth.JoinHost, auth.ReadHosts, auth.ManageHosts, auth.ReadKeys, auth.ManageKeys, auth.EndLogins, auth.ReadAudit,
		auth.ReadPlayerData, auth.WritePlayerData, auth.ReadPlayerSessionIDs, auth.ReadLogs, auth.BanPlayer, auth.ExportPlayers, auth.ImportPlayers, auth.OpenShell,
	}
	for _, op := range gamelift.API().Operations {
		actions = append(actions, auth.Action(op.Name))
	}
	return console.People{
		Region: o.Region, Regions: o.Regions, Account: o.home().Account, Actions: actions, Cookie: d.master.LoginCookie(),
		Secure: func(r *http.Request) bool { return r.TLS != nil || strings.HasPrefix(at.URL(), "https:") },
		LogIn: func(r *http.Request, keyID, secret string) (string, auth.Login, error) {
			caller, err := d.keys.Prove(keyID, secret)
			if err != nil {
				return "", auth.Login{}, d.callers.failed(r, auth.LogIn, err)
			}
			audit.From(r.Context()).SetCaller(caller, auth.LogIn)
			door.Known(r)
			return d.keys.Logins.Begin(r.Context(), caller, addressOf(r))
		},
		Provider:   d.provider(o, at),
		LogOut:     func(ctx context.Context, token string) error { return d.keys.Logins.End(ctx, token) },
		Who:        d.callers.who,
		Operations: func() any { return described() },
	}
}

// addressOf returns the address that a request came from, "" if it is not known.
func addressOf(r *http.Request) string {
	if at := door.Client(r); at.IsValid() {
		return at.String()
	}
	return ""
}

// who returns the sender of a request whatever its role is, with its login to the console,
// if it has one.
func (c *callers) who(r *http.Request, action auth.Action) (caller auth.Caller, login console.Login, err error) {
	p, proof, err := c.authenticate(r, action)
	if err == nil {
		err = proof(nil)
	}
	if err != nil {
		return auth.Caller{}, login, err
	}
	caller = callerOf(p)
	audit.From(r.Context()).SetCaller(caller, action)
	door.Known(r)
	if token, err := c.master.FromCookie(r); err == nil && token != "" {
		if l, _, err := c.signed.keys.Logins.Of(token); err == nil {
			login = console.Login{Name: l.Name(), CSRF: c.master.CSRF(token), Expires: l.Expires}
		}
	}
	return caller, login, c.limits.Key(caller)
}
