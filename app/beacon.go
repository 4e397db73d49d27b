package app

import (
	"net"
	"net/url"

	"github.com/musterhq/muster/app/host"
	"github.com/musterhq/muster/beacon"
)

// listenBeacon opens the latency beacon. A port that is taken costs the beacon,
// not the start.
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

// ownBeacon is where the beacon answers, as players reach it; "" where there is none.
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
