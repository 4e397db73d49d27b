package app

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/backend"
	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/fault"
)

// outside is what players' packages learn once the server listens.
type outside struct {
	base     func() string                                              // base URL
	beacon   func() string                                              // HOST:PORT of our own beacon; "" where there is none
	operator func(r *http.Request, body []byte) (key string, err error) // lets in who may act for players
}

// addPlayers makes accounts and the backend for game clients.
func (d *domain) addPlayers(o *Options, metrics prometheus.Registerer) error {
	c := o.Players
	c.Open = o.AcceptAny
	issuer := func() string {
		if c.Issuer != "" {
			return c.Issuer
		}
		return d.outside.base() + "/player"
	}
	var err error
	d.identity, err = identity.New(d.store, identity.Deps{Events: d.events, Secrets: d.master, Logger: o.Logger}, identity.Options{
		Issuer: issuer, Audience: c.Audience, Algorithm: c.Algorithm, AccessLife: c.AccessLife, Providers: c.Providers,
	})
	if err != nil {
		return err
	}
	d.players, err = backend.New(backend.Deps{
		Store: d.store, Events: d.events, Identity: d.identity, Matching: backend.NewMatching(d.store, d.matches),
		Fleets: d.fleets, Sessions: d.sessions, Placements: d.placements,
		Base:     func() string { return d.outside.base() },
		Beacon:   func() string { return d.outside.beacon() },
		Operator: func(r *http.Request, body []byte) (string, error) { return d.outside.operator(r, body) },
		Logger:   o.Logger, Registerer: metrics,
	}, c)
	return err
}

// mayActForPlayers lets in who could start matchmaking for players through the API,
// and gives their access key.
func (a *App) mayActForPlayers(r *http.Request, body []byte) (key string, err error) {
	p, err := a.callers().Authenticate(r, body)
	if err != nil {
		return "", err
	}
	if !auth.Role(p.Role).Allows("StartMatchmaking") {
		return "", fault.New(fault.AccessDenied, "access key %s has the role %s, which may not act for players", p.AccessKeyID, p.Role)
	}
	return p.AccessKeyID, nil
}
