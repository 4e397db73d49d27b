package app

import (
	"io"
	"net/http"
	"strings"

	"github.com/musterhq/muster/internal/awsquery"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/serversdk"
)

// paths are the first parts of the paths that the listener uses itself; no bucket may
// have such a name.
var paths = []string{"admin", "agent", "beacon", "console", "deployment", "docs", "gameserver", "healthz", "metrics", "notify", "player", "readyz", "regions", "service"}

// routes routes each request to its door. Requests in AWS's protocols are recognized by
// their headers, game servers by their query, those of the Auto Scaling API and of STS by the
// service that they are signed for, files by a signature for S3 or their bucket, and everything
// else by its path.
func (r *replica) routes() http.Handler {
	doors := r.doors
	paths, audited := http.NewServeMux(), r.domain.audited
	yields := store.WithYield // the first changes to be refused while too many wait to become durable
	paths.Handle("/console/", audited("console", doors.console, nil))
	paths.Handle("/agent/", audited("agent", doors.hosts, nil))
	paths.Handle("/player/", audited("player", doors.players, yields))
	paths.Handle("/notify/", audited("notify", r.domain.notices, yields))
	paths.Handle("/admin/", audited("admin", doors.admin, yields))
	if r.opts.several() && r.opts.isHome() {
		paths.Handle("/deployment/", &homeDoor{domain: r.domain, region: r.opts.Region, secret: r.node.masterKey.NodeSecret(), ends: r.standing.Done()})
	}
	if r.opts.several() {
		paths.Handle(neighborPath, &neighborDoor{region: r.opts.Region, secret: r.node.masterKey.NodeSecret(), own: r.domain.placements.Region()})
	}
	paths.HandleFunc("GET /{$}", welcome)
	paths.HandleFunc("/", nothingHere)
	servers := audited("gameserver", doors.servers, nil)
	api, files := audited("api", doors.api, yields), audited("files", doors.uploads, yields)
	scaling, tokens := audited("autoscaling", doors.scaling, nil), audited("sts", doors.tokens, nil)
	all := http.HandlerFunc(func(w http.ResponseWriter, rq *http.Request) {
		switch {
		case doors.api.Match(rq):
			api.ServeHTTP(w, rq)
		case serversdk.Match(rq):
			servers.ServeHTTP(w, rq)
		case doors.scaling.Match(rq):
			scaling.ServeHTTP(w, rq)
		case doors.tokens.Match(rq):
			tokens.ServeHTTP(w, rq)
		case doors.uploads.Match(rq):
			files.ServeHTTP(w, rq)
		case elsewhere.Match(rq):
			elsewhere.ServeHTTP(w, rq)
		default:
			paths.ServeHTTP(w, rq)
		}
	})
	if r.opts.several() {
		return withoutRegion(all)
	}
	return all
}

// elsewhere refuses the requests of AWS's clients for other services.
var elsewhere = &awsquery.Elsewhere{
	Served: []string{"gamelift", "autoscaling", "sts", "s3"},
	Remedy: "this is Muster, which speaks the Amazon GameLift API. To send only that here, set AWS_ENDPOINT_URL_GAMELIFT instead of AWS_ENDPOINT_URL (and AWS_ENDPOINT_URL_S3 and AWS_ENDPOINT_URL_STS for uploads and GetCallerIdentity)",
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
