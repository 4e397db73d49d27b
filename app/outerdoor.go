package app

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/musterhq/muster/internal/door"
)

// maxConnections is the default of Options.MaxConnections if the process may open enough
// files.
const maxConnections = 65_536

// outerDoor returns the door that every connection and request passes first.
func (a *App) outerDoor() (*door.Door, error) {
	proxies, err := door.ParseProxies(slices.Concat(a.opts.TrustedProxies, a.opts.Players.TrustedProxies))
	if err != nil {
		return nil, fmt.Errorf("trusted proxies: %w", err)
	}
	var pages *door.Pages
	if a.opts.AcceptAny {
		pages = &door.Pages{Base: func() string { return a.base }, Origins: a.opts.Players.Origins}
	}
	return door.New(door.Options{
		Pages:       pages,
		BodyTimeout: a.opts.BodyTimeout, Connections: a.opts.connections(), Strangers: a.opts.MaxStrangers,
		Proxies: proxies, Forwarded: a.forwarded, Registerer: a.registry,
	}), nil
}

// connections returns the limit of open connections: some files are needed for the
// database, builds and logs.
func (o *Options) connections() int {
	if o.MaxConnections > 0 {
		return o.MaxConnections
	}
	if files := fileLimit(); files > 0 {
		return min(maxConnections, max(64, files/4*3))
	}
	return maxConnections
}

// forwarded returns the client's address of a request that another node of the cell has
// forwarded.
func (a *App) forwarded(r *http.Request) (address string, ok bool) {
	if a.gate == nil {
		return "", false
	}
	return a.gate.Forwarded(r)
}
