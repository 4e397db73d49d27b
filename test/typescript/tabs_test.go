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

// tabs is a page whose frame has the same storage: two clients with one login. Each round, an
// hour passes for both at once, so that both have to refresh.
const tabs = `<!doctype html><meta charset=utf-8><title>tabs</title>
<script type=module>
import { Client, LocalStorageTokenStore } from "/dist/muster.min.js";
const sent = [];
let ahead = 0;
const watched = (input, init) => { sent.push(String(input).replace(/.*player.v1/, "")); return fetch(input, init) };
const open = () => new Client(%q, { store: new LocalStorageTokenStore("tabs"), fetch: watched, now: () => Date.now() + top.ahead });
if (parent === window) {
  window.ahead = 0;
  const frame = document.createElement("iframe");
  const other = new Promise(resolve => (window.ready = resolve));
  const mine = open();
  await mine.loginGuest();
  frame.src = "/";
  document.body.append(frame);
  const theirs = await other;
  window.result = (async () => {
    const ids = new Set();
    for (let round = 0; round < 8; round++) {
      window.ahead += 3600_000;
      const all = await Promise.all(Array.from({ length: 6 }, (_, i) => (i %% 2 ? mine : theirs.client).me()));
      all.forEach(p => ids.add(p.playerId));
    }
    const { length } = [...sent, ...theirs.sent].filter(p => p === "/auth/refresh");
    return { players: ids.size, refreshes: length, others: [...sent, ...theirs.sent].filter(p => p.startsWith("/auth/") && p !== "/auth/refresh") };
  })();
} else {
  parent.ready({ client: open(), sent });
}
</script>`

// Two tabs share one login: neither uses up the other's refresh token, which would end it.
func TestTabs_ShareALogin(t *testing.T) {
	chromium.Needs(t, "there are no tabs")
	server := node.Start(t, "--listen", "127.0.0.1:0", "--data", t.TempDir())
	mux := http.NewServeMux()
	mux.Handle("GET /dist/", http.FileServer(http.Dir("../../clients/typescript")))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, tabs, server.URL)
	})
	site := httptest.NewServer(mux)
	t.Cleanup(site.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	b := chromium.Open(t, ctx, site.URL+"/", "800,600")
	var result struct {
		Players, Refreshes int
		Others             []string
	}
	b.Await("(async () => { while (!window.result) await new Promise(r => setTimeout(r, 20)); return window.result })()", &result)
	if result.Players != 1 || result.Refreshes != 8 || len(result.Others) != 1 {
		t.Errorf("got %+v, want one player, a refresh each round, and no other login but the first", result)
	}
}
