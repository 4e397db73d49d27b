package app

import (
	"fmt"
	"log"
	"log/slog"
	"net"
	"strings"
)

// gameServerPath is where game server processes connect.
const gameServerPath = "/gameserver/v5"

// listen opens the listener and settles the base URL.
func (a *App) listen() error {
	l, err := net.Listen("tcp", a.opts.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	a.listener = l
	a.base = a.opts.baseURL(l.Addr().(*net.TCPAddr))
	if a.listener, err = a.secured(l); err != nil {
		l.Close()
		return err
	}
	return nil
}

// baseURL is how others reach a listener.
func (o *Options) baseURL(addr *net.TCPAddr) string {
	if o.PublicURL != "" {
		return o.PublicURL
	}
	scheme := "http"
	if o.TLSCert != "" {
		scheme = "https"
	}
	host, _, _ := net.SplitHostPort(o.Listen)
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = ownAddress()
	}
	return scheme + "://" + net.JoinHostPort(host, fmt.Sprint(addr.Port))
}

// ownAddress is an address of this machine that others can reach, as far as the
// machine knows, else loopback.
func ownAddress() string {
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	return "127.0.0.1"
}

// gameServerURL is the WebSocket endpoint for game servers at a base URL.
func gameServerURL(base string) string {
	return "ws" + strings.TrimPrefix(base, "http") + gameServerPath
}

// connectionLog takes what net/http has to say of single connections; peers
// cause most of it, so it is no more than information.
func (a *App) connectionLog() *log.Logger {
	return slog.NewLogLogger(a.log.With("component", "http").Handler(), slog.LevelInfo)
}
