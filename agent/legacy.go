package agent

import (
	"net/netip"

	"github.com/musterhq/muster/agent/legacy"
)

// LegacyClosed returns why game servers with Server SDK 3 and 4 cannot connect, or "".
func (a *Agent) LegacyClosed() string {
	s := a.machine.Legacy
	if s == nil {
		return ""
	}
	return s.Why()
}

// startLegacy opens the ports on which Server SDK 3 and 4 connect, if the options name any.
// Ports that are taken are tried again.
func (a *Agent) startLegacy() (stop func()) {
	if a.opts.Legacy == nil {
		return func() {}
	}
	s := legacy.Open(legacy.Options{Ports: *a.opts.Legacy, TLS: a.opts.TLS, Contained: a.contained, Sockets: a.opts.Sockets, Resuming: true, Log: a.opts.Log})
	a.machine.Legacy = s
	ports := *a.opts.Legacy
	if s.Why() == "" {
		ports = s.At()
	}
	for _, ip := range []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()} {
		for _, port := range []int{ports.SocketIO, ports.HTTP, ports.WebSocket} {
			a.machine.Jailer.Allow(netip.AddrPortFrom(ip, uint16(port)))
		}
	}
	return s.Close
}

// contained returns the id of the game server in whose container a process runs, or "".
func (a *Agent) contained(pid int) string {
	if e := a.engines.last(); e != nil {
		return e.ProcessOf(pid)
	}
	return ""
}
