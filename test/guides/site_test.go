package guides

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/musterhq/muster/test/chromium"
	"github.com/musterhq/muster/test/node"
)

// A reader opens the documents on the built server, searches, and comes to the section. The page
// loads only what is its own, and its script runs under its policy.
func TestSite(t *testing.T) {
	t.Parallel()
	needs(t, "chromium")
	muster := node.Start(t, "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--log-level", "warn")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tab := chromium.Open(t, ctx, muster.URL+"/docs", "1280,900")
	tab.Until(ctx, `document.querySelector("h1")?.textContent.startsWith("Muster's documentation")`)
	tab.Await(`globalThis.refused = []; addEventListener("securitypolicyviolation", e => refused.push(e.blockedURI)); true`, new(bool))
	tab.Await(`(() => { const i = document.querySelector(".search input"); i.focus(); i.value = "drain host"; i.oninput(); return true })()`, new(bool))
	tab.Until(ctx, `document.querySelectorAll("#hits a").length > 2`)
	tab.Screenshot("docs-search.png")
	for query, want := range map[string]string{
		// A word, or the beginning of one, comes before a part of one, such as "report".
		"port": `hits.length > 5 && hits.every(h => /(^|[^\p{L}\p{N}])port/iu.test(h)) && /\bports?\b/i.test(hits[0].split("\n")[1])`,
		// A heading comes before text.
		"firewall": `hits[0].split("\n")[1] === "Firewall"`,
		// All words come before some, and some before none.
		"drain host":     `/drain/i.test(hits[0]) && /host/i.test(hits[0])`,
		"firewall qwxyz": `hits[0].split("\n")[1] === "Firewall"`,
		// What is to be done comes before how it works and why, and words such as "how" do not count.
		"how do I deploy": `hits[0].startsWith("Deploying") || hits[0].split("\n")[1] === "Deploy"`,
		"rollback":        `hits[0].split("\n")[1] === "Rollback"`,
		"qwxyz":           `hits.length === 0 && !document.querySelector("#hits").hidden`,
	} {
		tab.Await(fmt.Sprintf(`(() => { const i = document.querySelector(".search input"); i.value = %q; return i.oninput().then(() => true) })()`, query), new(bool))
		var hits []string
		tab.Await(`globalThis.hits = [...document.querySelectorAll("#hits a")].map(a => [...a.children].map(e => e.textContent).join("\n"))`, &hits)
		var right bool
		if tab.Await(want, &right); !right {
			t.Errorf("a search for %q finds %q", query, hits)
		}
		tab.Screenshot("docs-search-" + strings.Fields(query)[0] + ".png")
	}
	tab.Await(`(() => { const i = document.querySelector(".search input"); i.value = "drain host"; return i.oninput().then(() => true) })()`, new(bool))
	var refused []string
	if tab.Await(`refused`, &refused); len(refused) > 0 {
		t.Errorf("the page wanted %q, which its policy forbids", refused)
	}
	tab.Await(`(document.querySelector("#hits a[aria-selected=true]").click(), true)`, new(bool))
	tab.Until(ctx, `location.pathname.endsWith(".html") && location.hash && document.getElementById(location.hash.slice(1)) && document.querySelector(".nav [aria-current]")`)
	tab.Screenshot("docs-section.png")
	var loaded []string
	tab.Await(`performance.getEntriesByType("resource").map(e => e.name).filter(u => !u.startsWith(location.origin + "/docs/"))`, &loaded)
	if len(loaded) > 0 {
		t.Errorf("the page loaded %q from elsewhere", loaded)
	}
}
