package door

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Pages keeps web pages away from a server that requires no credentials: otherwise any
// page in a browser on the same machine could control it. It checks headers that only
// browsers send, and the Host, which other programs can set as needed.
type Pages struct {
	Base    func() string   // the server's own base URL
	Origins func() []string // sites whose pages may use the player API now, besides those of this machine
	// RefusePlayers writes the answer to a page that may not use the player API, in the
	// API's own form; nil means that of all other refusals.
	RefusePlayers func(w http.ResponseWriter, message string)
}

// refuse writes the answer to a request that is refused.
func (p *Pages) refuse(w http.ResponseWriter, r *http.Request, status int, message string) {
	if status == http.StatusForbidden && p.RefusePlayers != nil && strings.HasPrefix(path.Clean(r.URL.Path)+"/", "/player/") {
		p.RefusePlayers(w, message)
		return
	}
	refuse(w, status, message)
}

// refusal returns the status and message if a request must be refused, or 0.
func (p *Pages) refusal(r *http.Request) (status int, message string) {
	if !p.names(r.Host) {
		return http.StatusMisdirectedRequest, "Host: this server answers as localhost, as a loopback address and under its own base URL only; " +
			"a web page that has its own name lead here gets nothing"
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if SameOrigin(r) || forPlayers(r.URL.Path) && (LocalOrigin(origin) || slices.Contains(p.Origins(), origin)) {
			return 0, ""
		}
		return http.StatusForbidden, "Origin: pages of other sites get nothing from a server that asks for no credentials; " +
			"origins in the players file lets them use the player API"
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		navigates := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
		if !navigates || r.Method != http.MethodGet {
			return http.StatusForbidden, "Sec-Fetch-Site: pages of other sites get nothing from a server that asks for no credentials"
		}
	}
	return 0, ""
}

// names reports whether a Host header names this server in a way that no foreign domain
// can.
func (p *Pages) names(host string) bool {
	if host == "" { // HTTP/1.0; browsers always send one
		return true
	}
	if own, err := url.Parse(p.Base()); err == nil && strings.EqualFold(host, own.Host) {
		return true
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	return isLocal(strings.Trim(name, "[]"))
}

// isLocal reports whether a host name or address is this machine's, whoever asks.
func isLocal(name string) bool {
	name = strings.ToLower(name)
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.IsLoopback()
}

// forPlayers reports whether a path is of the player API, and not of its part for
// operators.
func forPlayers(at string) bool {
	at = path.Clean(at) + "/"
	return strings.HasPrefix(at, "/player/") && !strings.HasPrefix(at, "/player/v1/server/")
}

// LocalOrigin reports whether an Origin header names a page that this machine serves.
func LocalOrigin(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Scheme+"://"+u.Host == origin && isLocal(u.Hostname())
}

// SameOrigin reports whether a request does not come from a web page, or comes from one
// served by this server: its Origin names the Host of the request.
func SameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}
