package app

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	docsite "github.com/musterhq/muster/docs/site"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/serversdk"
)

// RegionHeader is the header in which what is not signed can name a region instead.
const RegionHeader = "Muster-Region"

// front answers what is about the node itself, and passes every other request to the region
// that it names: in its path, its signature or a header. Those that name none, or one that
// is not of this deployment, go to the home region.
func (a *App) front() http.Handler {
	home := a.regions[0]
	if !a.opts.several() {
		return a.ownOr(home.ServeHTTP)
	}
	return a.ownOr(func(w http.ResponseWriter, r *http.Request) {
		name, signed := namedRegion(r)
		g := a.regionOf(name)
		switch {
		case !signed && otherSignature(r, name):
			refuse(w, http.StatusForbidden, fmt.Sprintf("Credential: the request is signed for region %.64q, and its path names region %.64q: sign it for that one", awsrpc.ClaimedRegion(r), name))
		case g != nil && forHome(r.URL.Path):
			home.ServeHTTP(w, r)
		case g != nil:
			g.ServeHTTP(w, r)
		case name == "" || signed: // which refuses it in the form that its sender knows
			home.ServeHTTP(w, r)
		default:
			refuse(w, http.StatusNotFound, a.opts.noRegion(name))
		}
	})
}

// refuse responds with a message that may contain text of the sender.
func refuse(w http.ResponseWriter, status int, message string) {
	body, _ := json.Marshal(map[string]string{"message": message}) // always possible
	writeJSON(w, status, string(body))
}

// forHome reports whether requests of a path are answered by the home region, whichever
// region they name: they concern keys, logins and the accounts of players.
func forHome(path string) bool {
	if _, rest, ok := cutRegion(path); ok {
		path = rest
	}
	switch path {
	case "/player/v1/auth/ws-ticket", "/player/v1/players/me/latency", "/player/v1/players/me/reservations":
		return false
	}
	return slices.ContainsFunc(homePaths, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
}

// homePaths begin the paths that forHome reports.
var homePaths = []string{
	"/admin/v1/keys", "/admin/v1/logins", "/admin/v1/players", "/console/api/login",
	"/player/.well-known/", "/player/v1/auth/", "/player/v1/players/", "/player/v1/server/players/",
}

// noRegion returns why there is nothing for a region.
func (o *Options) noRegion(name string) string {
	return fmt.Sprintf("region: there is no region %.64q here; the regions are %s", name, strings.Join(o.regions(), ", "))
}

// forwarded returns the client's address of a request that another node has forwarded.
func (a *App) forwarded(r *http.Request) (address string, ok bool) {
	return a.home().member.forwarded(r)
}

// ownPaths returns the paths that answer about this node itself.
func (a *App) ownPaths() *http.ServeMux {
	own := http.NewServeMux()
	own.HandleFunc("GET /healthz", a.alive)
	own.HandleFunc("GET /readyz", a.ready)
	documents := docsite.Handler(a.opts.Logger)
	own.Handle("/docs", documents)
	own.Handle(docsite.Prefix, documents)
	if a.opts.MetricsListen == "" {
		a.metrics.handle(own)
	}
	return own
}

// ownOr answers the node's own paths, and passes all other requests on.
func (a *App) ownOr(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == "/healthz", path == "/readyz", path == "/metrics", path == "/docs", strings.HasPrefix(path, docsite.Prefix):
			if _, pattern := a.own.Handler(r); pattern != "" && !serversdk.Match(r) {
				a.own.ServeHTTP(w, r)
				return
			}
		}
		next(w, r)
	})
}

// namedRegion returns the region that a request names, "" if it names none, and whether it
// is part of a signature.
func namedRegion(r *http.Request) (name string, signed bool) {
	if name, _, ok := cutRegion(r.URL.Path); ok {
		return name, false
	}
	if name := awsrpc.ClaimedRegion(r); name != "" {
		return name, true
	}
	return r.Header.Get(RegionHeader), false
}

// otherSignature reports whether a request that names a region is signed for another one: it
// was meant for that. Game servers sign for the region that their SDK was given.
func otherSignature(r *http.Request, name string) bool {
	claimed := awsrpc.ClaimedRegion(r)
	return name != "" && claimed != "" && claimed != name && !serversdk.Match(r)
}

// cutRegion divides a path of a region into its name and the path there.
func cutRegion(path string) (name, rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, protocol.PathRegions)
	if !ok {
		return "", "", false
	}
	name, rest, _ = strings.Cut(rest, "/")
	return name, "/" + rest, true
}

// withoutRegion removes the region from the paths of requests.
func withoutRegion(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, path, ok := cutRegion(r.URL.Path)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		inner := new(http.Request)
		*inner = *r
		inner.URL = new(url.URL)
		*inner.URL = *r.URL
		inner.URL.Path = path
		if _, raw, ok := cutRegion(r.URL.RawPath); ok {
			inner.URL.RawPath = raw
		}
		next.ServeHTTP(w, inner)
	})
}

// isRegion reports whether a name is one of the deployment's regions. A deployment with one
// region takes any: what was written for another one works with the endpoint changed.
func (o *Options) isRegion(name string) bool {
	return !o.several() || slices.Contains(o.Regions, name)
}

// endpoint returns the URL by which what is not signed reaches the region, for a base URL of
// the server: the home region's is the base URL itself.
func (o *Options) endpoint(base string) string {
	if o.isHome() {
		return base
	}
	return base + protocol.PathRegions + o.Region
}
