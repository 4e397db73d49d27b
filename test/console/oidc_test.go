package console

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/auth/oidc"
	"github.com/musterhq/muster/auth/oidc/oidctest"
	"github.com/musterhq/muster/test/chromium"
	"github.com/musterhq/muster/test/node"
)

// A person logs in with an account, in a real browser: the provider is another site for it,
// so it holds back the cookie of the login until a page of the console asks.
func TestOIDC_Browser(t *testing.T) {
	t.Parallel()
	chromium.Needs(t, "nobody can log in")
	p := oidctest.New(t) // at 127.0.0.1, which is another site than localhost
	ada := map[string]any{"sub": "1815", "email": "ada@example.com", "email_verified": true, "groups": []string{"ops"}}
	p.Account(ada, nil)
	port := node.ReservePort(t)
	base := "http://localhost:" + port
	p.Register(oidctest.Client{ID: "muster", Redirect: base + "/console/api/login/callback"})
	node.InProcess(t, func(o *app.Options) {
		o.Listen, o.PublicURL, o.AcceptAny = "127.0.0.1:"+port, base, false
		o.OIDC = oidc.Config{Issuer: p.URL, ClientID: "muster", Name: "Example", Rules: []oidc.Rule{{Value: "ops", Role: auth.Operator}}}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tab := chromium.Open(t, ctx, base+"/console/events?kind=audit", "1200,800")
	const button = `[...document.querySelectorAll("button")].find(b => b.textContent === "Log in with Example")`
	tab.Until(ctx, button)
	tab.Screenshot("oidc-login.png")
	tab.Await(button+".click(), true", new(bool))
	tab.Until(ctx, `document.querySelector(".who")?.textContent.includes("ada@example.com · operator")`)
	var shown struct{ Path, Cookies string }
	tab.Await(`({path: location.pathname + location.search, cookies: document.cookie})`, &shown)
	if shown.Path != "/console/events?kind=audit" || shown.Cookies != "" {
		t.Errorf("after the login: %+v", shown)
	}

	// Logged out, and without a role the next time.
	tab.Await(`fetch("/console/api/me").then(r => r.json()).then(me => fetch("/console/api/login", {method: "DELETE", headers: {"X-Muster-Csrf": me.csrf}})).then(r => r.ok)`, new(bool))
	p.Account(map[string]any{"sub": "1815", "email": "ada@example.com", "email_verified": true, "groups": []string{"<b>sales</b>"}}, nil)
	tab.Await("location.reload(), true", new(bool))
	tab.Until(ctx, button)
	tab.Await(button+".click(), true", new(bool))
	tab.Until(ctx, `document.querySelector("[role=alert]")`)
	tab.Screenshot("oidc-refused.png")
	var alert string
	tab.Await(`document.querySelector("[role=alert]").textContent`, &alert)
	if !strings.Contains(alert, `ada@example.com is logged in to the provider, but has no role here: the claim "groups" has "<b>sales</b>"`) {
		t.Errorf("the page says %q", alert)
	}
}
