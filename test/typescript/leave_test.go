package typescript

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/musterhq/muster/test/chromium"
	"github.com/musterhq/muster/test/node"
)

// leaving is a page whose player waits for a match that does not come: nobody else is there.
const leaving = `<!doctype html><meta charset=utf-8><title>leaving</title>
<script type=module>
import { Client } from "/dist/muster.min.js";
const client = new Client(%q);
await client.loginGuest();
window.searching = new Promise((resolve, reject) => client.findMatch(
	{ matchmaker: "demo", attributes: { skill: 10 } }, { onTicket: t => t.state === "searching" && resolve(true) }).catch(reject));
</script>`

// A player who leaves the page while searching is not matched any more.
func TestPage_LeftWhileSearching(t *testing.T) {
	chromium.Needs(t, "no page can be left")
	server, err := node.Run(node.Path(t), "local", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--demo-players", "0", "--log-level", "warn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, server) })
	mux := http.NewServeMux()
	mux.Handle("GET /dist/", http.FileServer(http.Dir("../../clients/typescript")))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, leaving, server.URL)
	})
	mux.HandleFunc("GET /elsewhere", func(w http.ResponseWriter, _ *http.Request) {})
	site := httptest.NewServer(mux)
	t.Cleanup(site.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	node.Follow(t, server.URL).Code(t, "SERVER_PROCESS_ACTIVE") // there is a matchmaker
	for name, leave := range map[string]func(*chromium.Tab){
		"goes elsewhere": func(tab *chromium.Tab) { tab.Await("location.href = '/elsewhere'; true", new(bool)) },
		"closes the tab": (*chromium.Tab).Close,
	} {
		t.Run(name, func(t *testing.T) {
			seen := node.FollowNew(t, server.URL)
			tab := chromium.Open(t, ctx, site.URL+"/", "800,600")
			tab.Await("(async () => { while (!window.searching) await new Promise(r => setTimeout(r, 20)); return window.searching })()", new(bool))
			leave(tab)
			seen.Code(t, "MATCHMAKING_CANCELLED")
		})
	}
}
