package clients

import (
	"testing"

	"github.com/musterhq/muster/test/node"
)

// A page of this machine reaches the server, and a page of another site does not: as seen
// by a page that uses no library.
func TestPage(t *testing.T) {
	t.Parallel()
	node.Path(t)
	r := runtimeRow{name: "chromium", source: "test/clients/testdata/page", needs: "chromium", remedy: "install Chromium (Debian package chromium)", page: "driver/browser.mjs"}
	r.available(t)
	shared := newServer(t, nil)
	ask := step{Client: "a", Do: "config", Want: map[string]any{"api_version": "1"}}
	refused := step{Client: "a", Do: "config", Error: map[string]any{"kind": "network"}}
	open := step{Client: "a", Do: "open"}
	here := player{T: t, driver: r.start(t)}
	here.play(&r, shared, &story{Name: "here", Steps: []step{open, ask}})
	elsewhere := player{T: t}
	elsewhere.play(&r, shared, &story{Name: "elsewhere", Needs: needs{Page: foreignPage}, Steps: []step{open, refused}})
}
