package app

import (
	"net"
	"net/url"

	"github.com/musterhq/muster/app/host"
	"github.com/musterhq/muster/beacon"
)

// listenBeacon opens the latency beacon. If its port is taken, the app starts without
// it.
func (a *App) listenBeacon() {
	if !a.opts.Beacon {
		return
	}
	server, err := beacon.Listen(beacon.Options{Location: host.Location, UDP: a.listener.Addr().String()})
	if err != nil {
		a.log.Warn("no latency beacon; players measure by HTTP", "error", err)
		return
	}
	a.beacon = server
}

// ownBeacon returns the beacon's address for players; "" if there is none.
func (a *App) ownBeacon() string {
	if a.beacon == nil {
		return ""
	}
	base, err := url.Parse(a.base)
	_, port, err2 := net.SplitHostPort(a.beacon.UDP())
	if err != nil || err2 != nil {
		return ""
	}
	return net.JoinHostPort(base.Hostname(), port)
}
