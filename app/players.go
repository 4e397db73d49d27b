package app

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/backend"
	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/lobby"
)

// outside is what the players' packages learn once the server listens.
type outside struct {
	base     func() string // base URL
	beacon   func() string // HOST:PORT of our own beacon; "" if there is none
	operator func(r *http.Request, action auth.Action) (auth.Caller, func(body []byte) error, error)
}

// addPlayers creates the services for accounts and game clients.
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
		Issuer: issuer, Audience: c.Audience, Algorithm: c.Algorithm, AccessLife: c.AccessLife, GuestKeep: c.GuestKeep, Providers: c.Providers,
	})
	if err != nil {
		return err
	}
	d.lobby, err = lobby.New(d.store, lobby.Deps{
		Identity: d.identity, Fleets: d.fleets, Sessions: d.sessions, Placements: d.placements, Matches: d.matches,
	}, lobby.Options{Offer: c.Offer(), Logger: o.Logger, Registerer: metrics})
	if err != nil {
		return err
	}
	d.players, err = backend.New(backend.Deps{
		Store: d.store, Identity: d.identity, Fleets: d.fleets, Lobby: d.lobby,
		Base:   func() string { return d.outside.base() },
		Beacon: func() string { return d.outside.beacon() },
		Operator: func(r *http.Request, action auth.Action) (auth.Caller, func([]byte) error, error) {
			return d.outside.operator(r, action)
		},
		Logger: o.Logger, Registerer: metrics,
	}, c)
	return err
}

// claimForPlayers returns the claimed sender of a request, if it is allowed the action on
// players.
func (a *App) claimForPlayers(r *http.Request, action auth.Action) (auth.Caller, func(body []byte) error, error) {
	caller, proof, err := a.callers.claim(r, action)
	if err != nil {
		return caller, nil, err
	}
	return caller, func(body []byte) error {
		if err := proof(body); err != nil {
			return err
		}
		return a.limits.Key(caller)
	}, nil
}
