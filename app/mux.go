package app

import (
	"io"
	"net/http"
	"strings"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/serversdk"
)

// paths are the first parts of the paths that the listener uses itself; no bucket may
// have such a name.
var paths = []string{"admin", "agent", "beacon", "console", "gameserver", "healthz", "metrics", "notify", "player", "readyz", "service"}

// ownPaths returns the paths that answer about this node itself.
func (a *App) ownPaths() *http.ServeMux {
	own := http.NewServeMux()
	own.HandleFunc("GET /healthz", a.health.alive)
	own.HandleFunc("GET /readyz", a.health.ready)
	if a.opts.MetricsListen == "" {
		a.metrics.handle(own)
	}
	return own
}

// routes routes each request to its door. Requests in AWS's protocols are recognized by
// their headers, game servers by their query, those of the Auto Scaling API by the service
// that they are signed for, files by a signature for S3 or their bucket, and everything
// else by its path.
func (a *App) routes() http.Handler {
	paths, audited := a.ownPaths(), a.domain.audited
	yields := store.WithYield // the first changes to be refused while too many wait to become durable
	paths.Handle("/console/", audited("console", a.doors.console, nil))
	paths.Handle("/agent/", audited("agent", a.doors.hosts, nil))
	paths.Handle("/player/", audited("player", a.doors.players, yields))
	paths.Handle("/notify/", audited("notify", a.domain.notices, yields))
	paths.Handle("/admin/", audited("admin", a.doors.admin, yields))
	paths.HandleFunc("GET /{$}", welcome)
	paths.HandleFunc("/", nothingHere)
	servers := audited("gameserver", a.doors.servers, nil)
	api, files := audited("api", a.doors.api, yields), audited("files", a.doors.uploads, yields)
	scaling := audited("autoscaling", a.doors.scaling, nil)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case a.doors.api.Match(r):
			api.ServeHTTP(w, r)
		case serversdk.Match(r):
			servers.ServeHTTP(w, r)
		case a.doors.scaling.Match(r):
			scaling.ServeHTTP(w, r)
		case a.doors.uploads.Match(r):
			files.ServeHTTP(w, r)
		default:
			paths.ServeHTTP(w, r)
		}
	})
}

// welcome sends people to the console. Programs do not ask for HTML.
func welcome(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		nothingHere(w, r)
		return
	}
	http.Redirect(w, r, "/console/", http.StatusFound)
}

func nothingHere(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusNotFound, `{"message":"There is nothing here. The API takes POST / with X-Amz-Target, or POST /service/GameLift/operation/NAME with smithy-protocol."}`)
}

func writeJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, body+"\n")
}
