// Package page is the arena in a browser: the page and what it needs from its own site.
// page.js is bundled from src, with the TypeScript library of the player API, by make
// typescript.
package page

import (
	_ "embed"
	"encoding/json"
	"errors"
	"net/http"
)

//go:embed index.html
var index []byte

//go:embed page.js
var script []byte

// Settings are what the page is to know.
type Settings struct {
	URL        string `json:"url"` // of Muster's player API
	Matchmaker string `json:"matchmaker"`
}

// Handler serves the page. bots has a bot look for a match, for a player who would be alone;
// it returns why none does.
func Handler(s Settings, bots func() error) http.Handler {
	mux := http.NewServeMux()
	file := func(pattern, kind string, text []byte) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Cache-Control", "no-cache")
			w.Write(text) // fails if the browser has gone
		})
	}
	settings, err := json.Marshal(s)
	if err != nil {
		panic(err) // two strings
	}
	file("GET /{$}", "text/html; charset=utf-8", index)
	file("GET /page.js", "text/javascript; charset=utf-8", script)
	file("GET /settings.json", "application/json", settings)
	mux.HandleFunc("POST /bots", func(w http.ResponseWriter, _ *http.Request) {
		if err := bots(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /matches/{ticket}", func(w http.ResponseWriter, r *http.Request) {
		m, err := look(r.Context(), s.URL, r.PathValue("ticket"))
		switch {
		case errors.Is(err, errUntold):
			http.Error(w, err.Error(), http.StatusNotFound)
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadGateway)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Cache-Control", "no-store")
			_ = json.NewEncoder(w).Encode(m) // fails if the browser has gone
		}
	})
	return http.NewCrossOriginProtection().Handler(mux) // pages of other sites have no bots start
}
