package backend

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// from makes a request as a browser does for a page; header is more of it, in pairs.
func (h *house) from(origin, method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.RemoteAddr = "192.0.2.1:1234"
	r.Host = "play.example"
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	w := httptest.NewRecorder()
	h.b.ServeHTTP(w, r)
	return w
}

// asks is what a browser sends to learn whether a page may create a guest.
func (h *house) asks(origin, path string) *httptest.ResponseRecorder {
	return h.from(origin, "OPTIONS", path, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type")
}

// Programs, the server's own pages and those of sites that the configuration names may use
// the API; on an open server those of this machine too; no others.
func TestOrigin(t *testing.T) {
	t.Parallel()
	const guest = protocol.Base + "/auth/guest"
	inHouse(t, func(h *house) {
		h.Must(h.ids.Open(h.Ctx))
		h.Must(h.b.config.Reload(Config{Origins: []string{"https://game.example"}}, h.ids, h.lobby))
		for _, c := range []struct {
			origin         string
			closed, opened bool
		}{
			{"https://game.example", true, true},
			{"http://play.example", true, true},
			{"http://localhost:3000", false, true},
			{"https://app.localhost", false, true},
			{"http://127.0.0.1:8000", false, true},
			{"http://[::1]:8000", false, true},
			{"http://game.example", false, false},
			{"https://game.example:8443", false, false},
			{"https://game.example.evil.example", false, false},
			{"https://evil.example/https://game.example", false, false},
			{"https://localhost.evil.example", false, false},
			{"http://localhost@evil.example", false, false},
			{"http://evil.example#localhost", false, false},
			{"ftp://localhost", false, false},
			{"null", false, false},
			{"*", false, false},
		} {
			for _, open := range []bool{false, true} {
				h.b.config.Open = open
				may := open && c.opened || !open && c.closed
				made, asked := h.from(c.origin, "POST", guest), h.asks(c.origin, guest)
				socket := h.from(c.origin, "GET", protocol.Base+"/ws")
				want := map[bool][3]int{true: {201, 204, 400}, false: {403, 403, 403}}[may] // 400: no upgrade was requested
				if got := [3]int{made.Code, asked.Code, socket.Code}; got != want {
					t.Errorf("%s, open %t: got %d, want %d", c.origin, open, got, want)
				}
				for _, w := range []*httptest.ResponseRecorder{made, asked, socket} {
					reads := w.Header().Get("Access-Control-Allow-Origin")
					if may && reads != c.origin || !may && reads != "" {
						t.Errorf("%s, open %t: %q may read the answer", c.origin, open, reads)
					}
					if w.Header().Get("Access-Control-Allow-Credentials") != "" || !slices.Contains(w.Header().Values("Vary"), "Origin") {
						t.Errorf("%s, open %t: the headers are %v", c.origin, open, w.Header())
					}
				}
			}
		}
		h.b.config.Open = false
		if w := h.from("", "POST", guest); w.Code != 201 || w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("a program: got %d, %v", w.Code, w.Header())
		}
		h.Must(h.b.config.Reload(Config{Origins: []string{"https://other.example"}}, h.ids, h.lobby))
		if was, is := h.from("https://game.example", "POST", guest).Code, h.from("https://other.example", "POST", guest).Code; was != 403 || is != 201 {
			t.Errorf("after a reload: %d, %d", was, is)
		}
	})
}

// A page can read every answer, refusals and limits too, with the headers that it needs.
func TestOrigin_ReadsProblems(t *testing.T) {
	t.Parallel()
	const page = "http://localhost:3000"
	inHouse(t, func(h *house) {
		h.b.rates.address = newMeter("address", 1, time.Hour, 3)
		for path, want := range map[string]int{protocol.Base + "/players/me": 401, "/player/nothing": 404, protocol.Base + "/auth/nobody": 404} {
			w := h.from(page, "GET", path)
			if w.Code != want || w.Header().Get("Access-Control-Allow-Origin") != page {
				t.Errorf("%s: got %d, %v", path, w.Code, w.Header())
			}
		}
		w := h.from(page, "GET", protocol.Base+"/players/me")
		shown := w.Header().Get("Access-Control-Expose-Headers")
		if w.Code != 429 || w.Header().Get("Access-Control-Allow-Origin") != page || !strings.Contains(shown, "Retry-After") || !strings.Contains(shown, "ETag") {
			t.Errorf("above the limit: got %d, %v", w.Code, w.Header())
		}
	})
}

// Preflights and refused pages are counted like any other request of an address.
func TestPreflight_IsCounted(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"http://localhost:3000", "https://evil.example"} {
		inHouse(t, func(h *house) {
			h.b.rates.address = newMeter("address", 1, time.Hour, 2)
			var got []int
			for range 3 {
				got = append(got, h.asks(page, protocol.Base+"/auth/guest").Code)
			}
			if got[2] != 429 || got[0] == 429 || got[1] == 429 {
				t.Errorf("%s: got %d", page, got)
			}
		})
	}
}

// A preflight allows what the described operations need, and an OPTIONS request that is no
// preflight gets what any path without a route gets.
func TestPreflight_AllowsTheDescription(t *testing.T) {
	t.Parallel()
	inHouse(t, func(h *house) {
		w := h.asks("http://localhost:3000", protocol.Base+"/players/me")
		methods, headers := w.Header().Get("Access-Control-Allow-Methods"), strings.Split(w.Header().Get("Access-Control-Allow-Headers"), ", ")
		for _, rt := range h.b.routes() {
			if !slices.Contains(strings.Split(methods, ", "), rt.method) {
				t.Errorf("%s is not among %s", rt.pattern(), methods)
			}
		}
		named := regexp.MustCompile(`name: ([A-Za-z-]+), in: header`).FindAllSubmatch(Description, -1)
		if len(named) == 0 {
			t.Fatal("the description names no header")
		}
		for _, m := range named {
			if !slices.Contains(headers, string(m[1])) {
				t.Errorf("%s is not among %q", m[1], headers)
			}
		}
		if w.Header().Get("Access-Control-Max-Age") == "" {
			t.Error("browsers ask again before each request")
		}
		if w := h.from("http://localhost:3000", "OPTIONS", protocol.Base+"/players/me"); w.Code != 404 {
			t.Errorf("no preflight: got %d", w.Code)
		}
	})
}

// No page of another site reaches what operators sign, not even one of an allowed site.
func TestOrigin_NotForOperators(t *testing.T) {
	t.Parallel()
	inHouse(t, func(h *house) {
		asked := 0
		h.b.Deps.Operator = func(*http.Request, auth.Action) (auth.Caller, func([]byte) error, error) {
			asked++
			return auth.Caller{KeyID: "key"}, func([]byte) error { return nil }, nil
		}
		path := protocol.OperatorBase + "players/p/data/server/skill"
		for _, page := range []string{"http://localhost:3000", "https://evil.example"} {
			for _, w := range []*httptest.ResponseRecorder{h.from(page, "GET", path), h.asks(page, path)} {
				if w.Code != 403 || w.Header().Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("%s: got %d, %v", page, w.Code, w.Header())
				}
			}
		}
		if asked != 0 {
			t.Errorf("%d pages were asked for their signature", asked)
		}
		if w := h.from("", "GET", path); w.Code != 404 || asked != 1 {
			t.Errorf("a program: got %d", w.Code)
		}
	})
}

// Pages of all sites may measure latency; there is nothing to read.
func TestOrigin_Ping(t *testing.T) {
	t.Parallel()
	inHouse(t, func(h *house) {
		w := h.from("https://evil.example", "GET", protocol.Base+"/ping")
		if w.Code != 204 || w.Header().Get("Access-Control-Allow-Origin") != "*" || w.Body.Len() != 0 {
			t.Errorf("got %d, %v, %q", w.Code, w.Header(), w.Body)
		}
	})
}

func TestCheckOrigins(t *testing.T) {
	t.Parallel()
	good := []string{"https://game.example", "http://192.0.2.1:3000", "http://[2001:db8::1]:3000", "https://xn--bcher-kva.example", "capacitor://localhost"}
	if err := checkOrigins(good); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{
		"", "*", "null", "game.example", "https://", "https://*.game.example", "https://game.example/", "https://game.example/play", "https://game.example?x",
		"https://me@game.example", "https://Game.example", "https://game.example:443", "http://game.example:80", "https://bücher.example", "https://game.example ",
	} {
		if _, err := NewSettings(Config{Origins: []string{"https://game.example", bad}}); err == nil || !strings.Contains(err.Error(), "origins") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
