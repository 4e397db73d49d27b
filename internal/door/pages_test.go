package door

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A server that requires no credentials refuses foreign pages, and serves programs.
func TestPages(t *testing.T) {
	t.Parallel()
	const own = "127.0.0.1:9080"
	d := New(Options{Pages: &Pages{Base: func() string { return "http://muster.test:9080" }, Origins: func() []string { return []string{"https://game.example"} }}})
	h := d.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	for _, c := range []struct {
		name, method, path, host string
		header                   map[string]string
		want                     int
	}{
		{"a program", "POST", "/", own, nil, 200},
		{"a program, by name", "POST", "/", "localhost:9080", nil, 200},
		{"a program, by a name below", "POST", "/", "Bucket.LocalHost", nil, 200},
		{"a program, by IPv6", "POST", "/", "[::1]:9080", nil, 200},
		{"a program, by another loopback address", "POST", "/", "127.1.2.3:1", nil, 200},
		{"a program, by the base URL", "POST", "/", "muster.test:9080", nil, 200},
		{"a probe of HTTP/1.0", "GET", "/healthz", "", nil, 200},
		{"a rebound name", "POST", "/", "rebind.example:9080", nil, 421},
		{"a rebound name, a page of its own", "POST", "/", "rebind.example:9080", map[string]string{"Origin": "http://rebind.example:9080"}, 421},
		{"a name that begins well", "POST", "/", "localhost.example:9080", nil, 421},
		{"an address that begins well", "POST", "/", "127.0.0.1.example:9080", nil, 421},
		{"the base URL's name, another port", "POST", "/", "muster.test:80", nil, 421},
		{"all addresses", "POST", "/", "0.0.0.0:9080", nil, 421},
		{"another site", "POST", "/", own, map[string]string{"Origin": "https://evil.example"}, 403},
		{"another port", "POST", "/", own, map[string]string{"Origin": "http://127.0.0.1:3000"}, 403},
		{"a page without an origin", "POST", "/", own, map[string]string{"Origin": "null"}, 403},
		{"a page of its own", "POST", "/", own, map[string]string{"Origin": "http://127.0.0.1:9080", "Sec-Fetch-Site": "same-origin"}, 200},
		{"a known site, for players", "GET", "/player/v1/ws", own, map[string]string{"Origin": "https://game.example", "Sec-Fetch-Site": "cross-site"}, 200},
		{"a page of this machine, for players", "OPTIONS", "/player/v1/auth/guest", own, map[string]string{"Origin": "http://localhost:3000", "Sec-Fetch-Site": "cross-site"}, 200},
		{"a page of this machine, by IPv6", "POST", "/player/v1/auth/guest", own, map[string]string{"Origin": "http://[::1]:3000"}, 200},
		{"a page of this machine, for players' operators", "PUT", "/player/v1/server/players/p/ban", own, map[string]string{"Origin": "http://localhost:3000"}, 403},
		{"a known site, for players' operators", "PUT", "/player/v1/server/players/p/ban", own, map[string]string{"Origin": "https://game.example"}, 403},
		{"a page of this machine, by a path that leaves", "POST", "/player/../agent/v1/tokens", own, map[string]string{"Origin": "http://localhost:3000"}, 403},
		{"a page of this machine, by a path that turns", "PUT", "/player/v1/x/../server/players/p/ban", own, map[string]string{"Origin": "http://localhost:3000"}, 403},
		{"a foreign page, for players", "POST", "/player/v1/auth/guest", own, map[string]string{"Origin": "https://evil.example"}, 403},
		{"a foreign page whose name begins well", "POST", "/player/v1/auth/guest", own, map[string]string{"Origin": "http://localhost.evil.example"}, 403},
		{"a foreign page whose user is this machine", "POST", "/player/v1/auth/guest", own, map[string]string{"Origin": "http://localhost@evil.example"}, 403},
		{"a file, for players", "POST", "/player/v1/auth/guest", own, map[string]string{"Origin": "null"}, 403},
		{"a known site, for operators", "POST", "/agent/v1/tokens", own, map[string]string{"Origin": "https://game.example"}, 403},
		{"an image of another site", "GET", "/notify/confirm", own, map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, 403},
		{"a frame of another site", "GET", "/", own, map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, 403},
		{"a link", "GET", "/", own, map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200},
		{"a form", "POST", "/", own, map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 403},
		{"an address typed in", "GET", "/", own, map[string]string{"Sec-Fetch-Site": "none"}, 200},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		r.Host = c.host
		for name, value := range c.header {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s: %d, want %d", c.name, w.Code, c.want)
		}
	}
}
