package backend

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// What a page of an allowed site may send and read (the Fetch standard, "CORS protocol").
// Tokens travel in the Authorization header, which the page sets itself: the API has no
// cookies, so no answer allows credentials, which a browser would add without the page.
const (
	pageMethods = "GET, POST, PUT, PATCH, DELETE"
	pageHeaders = "Authorization, Content-Type, If-Match, If-None-Match"
	pageReads   = "ETag, Retry-After, X-Request-Id"
	// preflightKept is how long a browser keeps the answer to a preflight, in seconds;
	// Chromium keeps none longer.
	preflightKept = "7200"
)

// checkOrigins returns an error that names the first origin that no browser would send.
func checkOrigins(origins []string) error {
	for _, o := range origins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme == "" || u.Hostname() == "" || u.Scheme+"://"+u.Host != o || strings.ToLower(o) != o ||
			strings.ContainsFunc(o, func(r rune) bool { return r == '*' || r <= ' ' || r > '~' }) ||
			u.Scheme == "https" && u.Port() == "443" || u.Scheme == "http" && u.Port() == "80" {
			return fmt.Errorf("players: origins: %q is not an origin as browsers send it, such as https://game.example or http://192.0.2.1:3000", o)
		}
	}
	return nil
}

// admits reports whether a request comes from a program, which sends no Origin, from a page
// of the server itself or of a site that the configuration names or, on an open server, from
// a page of this machine.
func (c *core) admits(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return origin == c.Origin || door.SameOrigin(r) || slices.Contains(c.config.now().Origins, origin) ||
		c.config.Open && door.LocalOrigin(origin)
}

// admitPage reports whether a request may use a route as far as its Origin is concerned, and
// lets the page read the answer if so, whatever the answer is. Routes of operators have keys
// that belong in no page.
func (b *Backend) admitPage(rq *request, rt route) bool {
	h, origin := rq.w.Header(), rq.http.Header.Get("Origin")
	h.Add("Vary", "Origin")
	switch {
	case origin == "" || rt.access.who == anyPage:
		return true
	case rt.access.who == operator:
		return door.SameOrigin(rq.http)
	case !b.admits(rq.http):
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", pageReads)
	return true
}

// preflight answers a browser that asks whether a page may send a request. It does not
// depend on the path, except that nothing for operators is allowed.
func (b *Backend) preflight(rq *request) (answer, error) {
	r, h := rq.http, rq.w.Header()
	if r.Header.Get("Origin") == "" || r.Header.Get("Access-Control-Request-Method") == "" {
		return answer{}, notThere(r)
	}
	if strings.HasPrefix(r.URL.Path, protocol.OperatorBase) {
		h.Del("Access-Control-Allow-Origin")
		return answer{}, errForeignPage
	}
	h.Set("Access-Control-Allow-Methods", pageMethods)
	h.Set("Access-Control-Allow-Headers", pageHeaders)
	h.Set("Access-Control-Max-Age", preflightKept)
	return done(nil)
}

// RefusePage writes the refusal of a request of a web page, where that is decided before the API.
func RefusePage(w http.ResponseWriter, message string) {
	h, id := w.Header(), newID()
	h.Set("X-Request-Id", id)
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Origin")
	writeProblem(w, refuse("not-allowed", message), id)
}

// errForeignPage is what a page of a site that is not allowed gets.
var errForeignPage = refuse("not-allowed", "Origin: pages of this site may not send this; origins in the players file names the sites whose pages may use the player API, but none may use the part for operators")
