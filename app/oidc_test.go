package app_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/auth/oidc"
	"github.com/musterhq/muster/auth/oidc/oidctest"
	"github.com/musterhq/muster/internal/limit"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

const callback = "/console/api/login/callback"

// rule returns a rule from its text.
func rule(t *testing.T, text string) oidc.Rule {
	t.Helper()
	return must(oidc.ParseRule(text))(t)
}

// withProvider starts an app whose people log in with a provider, which knows it and has an
// account of ada.
func withProvider(t *testing.T, change func(*app.Options)) (*app.App, *oidctest.Provider) {
	t.Helper()
	p := oidctest.New(t)
	p.Account(ada, nil)
	a := start(t, func(o *app.Options) {
		o.AcceptAny = false
		o.OIDC = oidc.Config{
			Issuer: p.URL, ClientID: "muster", ClientSecret: "s3cret", Name: "Example",
			Rules: []oidc.Rule{rule(t, "ops=operator"), rule(t, "eu=operator arn:aws:gamelift:*:*:location/custom-eu"), rule(t, "support=read-only")},
		}
		if change != nil {
			change(o)
		}
	})
	p.Register(oidctest.Client{ID: "muster", Secret: "s3cret", Redirect: a.URL() + callback})
	return a, p
}

// begin begins a login, and returns the address at the provider.
func (v *browser) begin(to string) string {
	v.Helper()
	body := must(json.Marshal(map[string]string{"to": to}))(v)
	status, text := v.send(http.MethodPost, "/console/api/login/provider", string(body), map[string]string{"Content-Type": "application/json", "Origin": v.url})
	var out struct{ URL string }
	if err := json.Unmarshal([]byte(text), &out); err != nil || status != http.StatusOK || out.URL == "" {
		v.Fatalf("begin: %d %s", status, text)
	}
	return out.URL
}

// authorize logs in at the provider, and returns the address to which it sends the browser
// back.
func (v *browser) authorize(at string) string {
	v.Helper()
	status, text := v.send(http.MethodGet, at, "", nil)
	if status != http.StatusFound {
		v.Fatalf("the provider: %d %s", status, text)
	}
	return v.header.Get("Location")
}

// comeBack follows the way back, and returns the page that the login leads to, and why it
// failed, "" if it did not.
func (v *browser) comeBack(at string) (to, problem string) {
	v.Helper()
	if status, text := v.send(http.MethodGet, at, "", nil); status != http.StatusSeeOther {
		v.Fatalf("the way back: %d %s", status, text)
	}
	to = v.header.Get("Location")
	return to, v.problem()
}

// problem asks why the last login failed.
func (v *browser) problem() string {
	v.Helper()
	status, text := v.send(http.MethodGet, "/console/api/login", "", nil)
	var out struct{ Problem string }
	if err := json.Unmarshal([]byte(text), &out); err != nil || status != http.StatusOK {
		v.Fatalf("ways to log in: %d %s", status, text)
	}
	return out.Problem
}

// whole logs in from the form to the first page.
func (v *browser) whole() (problem string) {
	v.Helper()
	_, problem = v.comeBack(v.authorize(v.begin("/console/")))
	return problem
}

var ada = map[string]any{"sub": "1815", "email": "ada@example.com", "email_verified": true, "groups": []string{"all", "ops"}}

// and returns claims with others in addition.
func and(claims map[string]any, more map[string]any) map[string]any {
	all := maps.Clone(claims)
	maps.Copy(all, more)
	return all
}

// A person logs in with an account, may do what the role of the rule allows, and is named in the
// audit log. The cookie is for the console's own pages, and worth nothing after a log-out; all
// logins of a person end at once, and the person may log in again.
func TestOIDC_LogIn(t *testing.T) {
	t.Parallel()
	a, p := withProvider(t, nil)
	v := newBrowser(t, a.URL())
	if status, text := v.send(http.MethodGet, "/console/api/login", "", nil); status != http.StatusOK || !strings.Contains(text, `"provider":{"name":"Example"}`) {
		t.Errorf("ways to log in: %d %s", status, text)
	}
	if _, status := v.me(); status != http.StatusUnauthorized {
		t.Fatalf("nobody is let in with %d", status)
	}
	at := v.begin("/console/fleets?id=fleet-1")
	kept := v.header.Get("Set-Cookie")
	state := must(url.Parse(at))(t).Query().Get("state")
	if !strings.Contains(kept, "HttpOnly") || !strings.Contains(kept, "SameSite=Lax") || !strings.Contains(kept, "Max-Age=600") || state == "" || strings.Contains(kept, state) {
		t.Errorf("kept meanwhile: %s", kept)
	}
	status, text := v.send(http.MethodGet, v.authorize(at), "", nil)
	if to := v.header.Get("Location"); status != http.StatusSeeOther || to != "/console/fleets?id=fleet-1" {
		t.Fatalf("back at %q: %d %s", to, status, text)
	}
	set := slices.DeleteFunc(v.header.Values("Set-Cookie"), func(c string) bool { return !strings.Contains(c, "SameSite=Strict") })
	if len(set) != 1 || !strings.Contains(set[0], "HttpOnly") || !strings.Contains(set[0], "Path=/") || v.header.Get("Referrer-Policy") != "no-referrer" || v.header.Get("Cache-Control") != "no-store" {
		t.Errorf("the answer with the login: %v", v.header)
	}
	me, _ := v.me()
	if me.Name != "ada@example.com" || me.Role != "operator" || !me.Person || !strings.HasPrefix(me.Key, "oidc-") {
		t.Fatalf("logged in as %+v", me)
	}
	if left := time.Until(me.Expires); left > auth.LoginLifetime || left < auth.LoginLifetime-time.Minute {
		t.Errorf("the login lasts %v", left)
	}
	if status, text := v.call("CreateLocation", `{"LocationName":"custom-a"}`, nil); status != http.StatusOK {
		t.Errorf("a change by an operator: %d %s", status, text)
	}
	if status, text := v.send(http.MethodGet, "/admin/v1/keys", "", nil); status != http.StatusForbidden || !strings.Contains(text, "ada@example.com ("+me.Key+")") {
		t.Errorf("keys for an operator: %d %s", status, text)
	}
	admin := firstKey(t, a)
	recorded(t, admin, "admin muster:ReadKeys ada@example.com AccessDeniedException", "console muster:LogIn ada@example.com ok", "api CreateLocation ada@example.com ok")

	other := newBrowser(t, a.URL())
	other.keep(v.kept()...)
	if _, status := other.me(); status != http.StatusOK {
		t.Fatalf("a copy of the cookie: %d", status)
	}
	expect := func(what string, want int) {
		t.Helper()
		for i, b := range []*browser{v, other} {
			if _, status := b.me(); status != want {
				t.Errorf("%s, browser %d: %d, want %d", what, i, status, want)
			}
		}
	}
	if status, text := v.send(http.MethodDelete, "/console/api/login", "", nil); status != http.StatusNoContent {
		t.Fatalf("log out: %d %s", status, text)
	}
	expect("logged out", http.StatusUnauthorized)
	for _, b := range []*browser{v, other} {
		if problem := b.whole(); problem != "" {
			t.Fatal(problem)
		}
	}
	all, err := admin.Logins().List(t.Context())
	if err != nil || len(all) != 2 || all[0].KeyID != me.Key || all[0].Issuer != p.URL || all[0].Name != "ada@example.com" || all[0].Role != "operator" || all[0].From != "127.0.0.1" {
		t.Fatalf("logged in are %+v, %v", all, err)
	}
	if n, err := admin.Logins().End(t.Context(), me.Key); n != 2 || err != nil {
		t.Errorf("ended: %d, %v", n, err)
	}
	expect("ended", http.StatusUnauthorized)
	if problem := v.whole(); problem != "" {
		t.Errorf("again: %s", problem)
	}
}

// An answer is accepted only from the provider, for this server and this login, in the
// browser that began it, and once.
func TestOIDC_Threats(t *testing.T) {
	t.Parallel()
	edit := func(at string, change func(url.Values)) string {
		u := must(url.Parse(at))(t)
		q := u.Query()
		change(q)
		u.RawQuery = q.Encode()
		return u.String()
	}
	forged := func(change func(map[string]any)) func(*browser, *browser, *oidctest.Provider) string {
		return func(v, _ *browser, p *oidctest.Provider) string {
			p.Forge(change)
			return v.authorize(v.begin("/console/"))
		}
	}
	edited := func(change func(url.Values)) func(*browser, *browser, *oidctest.Provider) string {
		return func(v, _ *browser, _ *oidctest.Provider) string {
			return edit(v.authorize(v.begin("/console/")), change)
		}
	}
	// spent returns a way back that has been followed, in a browser that has what it had before.
	spent := func(v *browser) string {
		at := v.begin("/console/")
		kept := v.kept()
		back := v.authorize(at)
		if _, problem := v.comeBack(back); problem != "" {
			t.Fatal(problem)
		}
		v.keep(kept...)
		return back
	}
	for name, c := range map[string]struct {
		back func(v, other *browser, p *oidctest.Provider) string
		want string
	}{
		"somebody else's answer, where nothing was begun": {func(_, other *browser, _ *oidctest.Provider) string {
			return other.authorize(other.begin("/console/"))
		}, "not begun in this browser"},
		"somebody else's answer, where a login was begun": {func(v, other *browser, _ *oidctest.Provider) string {
			v.begin("/console/")
			return other.authorize(other.begin("/console/"))
		}, "not begun in this browser"},
		"somebody else's code": {func(v, other *browser, _ *oidctest.Provider) string {
			stolen, _ := url.Parse(other.authorize(other.begin("/console/")))
			return edit(v.authorize(v.begin("/console/")), func(q url.Values) { q.Set("code", stolen.Query().Get("code")) })
		}, "does not accept the code"},
		"no state":             {edited(func(q url.Values) { q.Del("state") }), "not begun in this browser"},
		"no code":              {edited(func(q url.Values) { q.Del("code") }), "no code"},
		"a code that was used": {func(v, _ *browser, _ *oidctest.Provider) string { return spent(v) }, "does not accept the code"},
		"a code that the provider lets be used twice": {func(v, _ *browser, p *oidctest.Provider) string {
			p.Lax()
			return spent(v)
		}, "used before"},
		"the same way back again": {func(v, _ *browser, _ *oidctest.Provider) string {
			back := v.authorize(v.begin("/console/"))
			v.comeBack(back)
			v.keep(slices.DeleteFunc(v.kept(), func(c *http.Cookie) bool {
				return !strings.HasSuffix(c.Name, "_away") && !strings.HasSuffix(c.Name, "_problem")
			})...)
			return back
		}, "not begun in this browser"},
		"an answer of another provider":          {edited(func(q url.Values) { q.Set("iss", "https://elsewhere.example") }), "is not from"},
		"an answer that names no provider":       {edited(func(q url.Values) { q.Del("iss") }), "is not from"},
		"a token for another application":        {forged(func(c map[string]any) { c["aud"] = "another" }), "not valid"},
		"a token for several applications":       {forged(func(c map[string]any) { c["aud"] = []string{"muster", "another"} }), "another application"},
		"a token that another application asked": {forged(func(c map[string]any) { c["azp"] = "another" }), "another application"},
		"a token of another issuer":              {forged(func(c map[string]any) { c["iss"] = "https://elsewhere.example" }), "not valid"},
		"a token that has expired":               {forged(func(c map[string]any) { c["exp"] = time.Now().Add(-time.Minute).Unix() }), "not valid"},
		"a token for another login":              {forged(func(c map[string]any) { c["nonce"] = "another" }), "another login"},
		"a token for no login":                   {forged(func(c map[string]any) { delete(c, "nonce") }), "another login"},
		"a token with another access token":      {forged(func(c map[string]any) { c["at_hash"] = "AAAAAAAAAAAAAAAAAAAAAA" }), "belong together"},
		"a token of nobody":                      {forged(func(c map[string]any) { c["sub"] = "" }), "does not name"},
		"a refusal of the provider": {func(v, _ *browser, p *oidctest.Provider) string {
			p.Deny("access_denied", "no <b>way</b>\x00")
			return v.authorize(v.begin("/console/"))
		}, `did not let you in, or you declined (access_denied). It says: "no <b>way</b>"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, p := withProvider(t, nil)
			v, other := newBrowser(t, a.URL()), newBrowser(t, a.URL())
			to, problem := v.comeBack(c.back(v, other, p))
			if !strings.Contains(problem, c.want) || !strings.HasPrefix(to, "/console/") {
				t.Errorf("at %q: %q, want %q", to, problem, c.want)
			}
			if _, status := v.me(); status != http.StatusUnauthorized {
				t.Errorf("logged in: %d", status)
			}
			if again := v.problem(); again != "" {
				t.Errorf("the problem is shown again: %q", again)
			}
		})
	}
}

// A login leads to a page of the console, whatever it was asked for.
func TestOIDC_LeadsNowhereElse(t *testing.T) {
	t.Parallel()
	a, _ := withProvider(t, nil)
	for _, to := range []string{
		"https://elsewhere.example/", "//elsewhere.example/", "/\\elsewhere.example/", "/console/../elsewhere", "/console/%2e%2e/x", "javascript:alert(1)", "",
		"/console//elsewhere.example", "/console/\r\nX: y", "/console/api/me", "/console/" + strings.Repeat("a", 2000), "/consolex",
		"/regions/eu-central-1/consolex", "/regions/eu-central-1/console/api/me", "/regions/eu-central-1/x/console/", "/regions//console/",
	} {
		v := newBrowser(t, a.URL())
		if got, problem := v.comeBack(v.authorize(v.begin(to))); got != "/console/" || problem != "" {
			t.Errorf("%q leads to %q: %s", to, got, problem)
		}
	}
	v := newBrowser(t, a.URL())
	if got, problem := v.comeBack(v.authorize(v.begin("/regions/us-east-1/console/fleets?range=6h"))); got != "/regions/us-east-1/console/fleets?range=6h" || problem != "" {
		t.Errorf("a page of a region leads to %q: %s", got, problem)
	}
	for what, header := range map[string]map[string]string{
		"a form of another page":       {"Content-Type": "application/x-www-form-urlencoded"},
		"a page at another address":    {"Content-Type": "application/json", "Origin": "http://localhost:1"},
		"a page that names no address": {"Content-Type": "application/json", "Origin": "null"},
	} {
		if status, text := v.send(http.MethodPost, "/console/api/login/provider", `{"to":"/console/"}`, header); status < 400 {
			t.Errorf("%s begins a login: %d %s", what, status, text)
		}
	}
}

// Who gets which role, and what those are told who get none.
func TestOIDC_Rules(t *testing.T) {
	t.Parallel()
	byAddress := func(o *oidc.Config) {
		o.Claim, o.Rules = "email", []oidc.Rule{{Value: "ada@example.com", Role: auth.Admin}}
	}
	ofDomain := func(o *oidc.Config) { o.EmailDomains = []string{"example.com"} }
	for name, c := range map[string]struct {
		claims, info map[string]any
		change       func(*oidc.Config)
		role, scope  string
		problem      string
	}{
		"the first rule that fits": {claims: and(ada, map[string]any{"groups": []string{"support", "ops"}}), role: "operator"},
		"with a scope":             {claims: and(ada, map[string]any{"groups": []string{"eu"}}), role: "operator", scope: "arn:aws:gamelift:*:*:location/custom-eu"},
		"one text":                 {claims: and(ada, map[string]any{"groups": "support"}), role: "read-only"},
		"only UserInfo has it": {claims: map[string]any{"sub": "7"}, info: map[string]any{"sub": "7", "groups": []string{"support"}, "email": "b@example.com", "email_verified": true},
			role: "read-only"},
		"UserInfo of another account": {claims: map[string]any{"sub": "7"}, info: map[string]any{"sub": "8", "groups": []string{"support"}}, problem: `sends no claim "groups"`},
		"inside another claim": {claims: map[string]any{"sub": "7", "realm_access": map[string]any{"roles": []string{"ops"}}}, role: "operator",
			change: func(o *oidc.Config) { o.Claim = "realm_access.roles" }},
		"a claim with dots in its name": {claims: map[string]any{"sub": "7", "https://example.com/roles": []string{"ops"}}, role: "operator",
			change: func(o *oidc.Config) { o.Claim = "https://example.com/roles" }},
		"an address":                      {claims: ada, role: "admin", change: byAddress},
		"an address that is not verified": {claims: and(ada, map[string]any{"email_verified": false}), problem: "email_verified", change: byAddress},
		"an address that UserInfo verified for another": {claims: map[string]any{"sub": "7", "email": "ada@example.com"}, problem: "email_verified",
			info:   map[string]any{"sub": "7", "email": "b@example.com", "email_verified": true, "groups": "x"},
			change: byAddress},
		"anybody of a domain": {claims: and(ada, map[string]any{"groups": nil}), role: "read-only",
			change: func(o *oidc.Config) {
				o.Rules, o.EmailDomains = []oidc.Rule{{Value: oidc.Anyone, Role: auth.ReadOnly}}, []string{"Example.com"}
			}},
		"a domain, verified for another address": {claims: map[string]any{"sub": "7", "email": "ada@example.com"}, problem: "verified",
			info:   map[string]any{"sub": "7", "email": "b@elsewhere.example", "email_verified": true, "groups": "ops"},
			change: ofDomain},
		"another domain": {claims: and(ada, map[string]any{"email": "ada@example.com.evil.example"}), problem: "no address of example.com",
			change: ofDomain},
		"a domain, not verified": {claims: and(ada, map[string]any{"email_verified": "false"}), problem: "verified",
			change: ofDomain},
		"no rule":         {claims: and(ada, map[string]any{"groups": []string{"all", "sales"}}), problem: `ada@example.com is logged in to the provider, but has no role here: the claim "groups" has "all", "sales"`},
		"the rule's name": {claims: and(ada, map[string]any{"groups": []string{"*"}}), problem: `has "*"`},
		"no groups":       {claims: and(ada, map[string]any{"groups": []string{}}), problem: `has no values`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, p := withProvider(t, func(o *app.Options) {
				if c.change != nil {
					c.change(&o.OIDC)
				}
			})
			p.Account(c.claims, c.info)
			v := newBrowser(t, a.URL())
			if problem := v.whole(); !strings.Contains(problem, c.problem) || (problem == "") != (c.problem == "") {
				t.Fatalf("problem %q, want %q", problem, c.problem)
			}
			if me, _ := v.me(); me.Role != c.role || me.Scope != c.scope {
				t.Errorf("logged in as %+v, want %s, %s", me, c.role, c.scope)
			}
			if c.problem != "" {
				audited(t, firstKey(t, a), "console muster:LogIn")
			}
		})
	}
}

// A login lasts as long as the rule that gave it, and those before, over restarts; and a
// login that has begun can end at another node.
func TestOIDC_RulesChange(t *testing.T) {
	t.Parallel()
	p := oidctest.New(t)
	p.Account(ada, nil)
	dir, address := t.TempDir(), node.Reserve(t)
	var last *app.App
	restart := func(rules ...string) *app.App {
		t.Helper()
		if last != nil {
			stop(t, last)
		}
		last = start(t, func(o *app.Options) {
			o.AcceptAny, o.Store, o.DataDir, o.Listen = false, "sqlite", dir, address
			o.OIDC = oidc.Config{Issuer: p.URL, ClientID: "muster"}
			for _, text := range rules {
				o.OIDC.Rules = append(o.OIDC.Rules, rule(t, text))
			}
			if rules == nil {
				o.OIDC = oidc.Config{}
			}
		})
		return last
	}
	a := restart("ops=operator")
	p.Register(oidctest.Client{ID: "muster", Redirect: a.URL() + callback})
	v := newBrowser(t, a.URL())
	back := v.authorize(v.begin("/console/"))
	restart("ops=operator")
	if _, problem := v.comeBack(back); problem != "" {
		t.Fatalf("the login that began before: %s", problem)
	}
	for _, step := range []struct {
		rules  []string
		status int
	}{
		{[]string{"ops=operator"}, http.StatusOK},
		{[]string{"ops=operator", "all=read-only"}, http.StatusOK},
		{[]string{"ops=read-only"}, http.StatusUnauthorized},
		{[]string{"all=read-only", "ops=operator"}, http.StatusUnauthorized},
		{[]string{"ops=operator team=red"}, http.StatusUnauthorized},
		{nil, http.StatusUnauthorized},
		{[]string{"ops=operator"}, http.StatusOK},
	} {
		restart(step.rules...)
		if me, status := v.me(); status != step.status || (status == http.StatusOK && me.Role != "operator") {
			t.Errorf("with the rules %q: %d, %+v", step.rules, status, me)
		}
	}
}

// The provider may be away when the server starts, and change its keys and the secret while it
// runs.
func TestOIDC_ProviderComesAndGoes(t *testing.T) {
	t.Parallel()
	now := "s3cret"
	a, p := withProvider(t, func(o *app.Options) {
		o.Limits = map[string]limit.Rate{"logins": {PerSecond: 1000, Burst: 1000}} // the browser asks until the provider is back
		o.Reread = func() (app.Files, error) { return app.Files{OIDCSecret: now}, nil }
	})
	p.Down(true)
	v := newBrowser(t, a.URL())
	begin := map[string]string{"Content-Type": "application/json"}
	status, text := v.send(http.MethodPost, "/console/api/login/provider", `{}`, begin)
	if status != http.StatusInternalServerError || !strings.Contains(text, "cannot be reached") || !strings.Contains(text, "access key") {
		t.Errorf("while it is away: %d %s", status, text)
	}
	p.Down(false)
	wait.For(t, "the provider is asked again, once a second", func() error {
		if status, text = v.send(http.MethodPost, "/console/api/login/provider", `{}`, begin); status != http.StatusOK {
			return fmt.Errorf("%d %s", status, text)
		}
		return nil
	})
	if problem := v.whole(); problem != "" {
		t.Fatal(problem)
	}
	p.Rotate()
	if problem := newBrowser(t, a.URL()).whole(); problem != "" {
		t.Errorf("with a new key: %s", problem)
	}
	p.Register(oidctest.Client{ID: "muster", Secret: "another", Redirect: a.URL() + callback})
	if problem := v.whole(); !strings.Contains(problem, "--oidc-client-secret-file") {
		t.Errorf("with the old secret: %q", problem)
	}
	now = "another"
	check(t, a.Reload(t.Context()))
	if problem := v.whole(); problem != "" {
		t.Errorf("with the new secret: %q", problem)
	}
}

// Behind a proxy that speaks TLS, the browser sends the cookies by TLS only, and
// accepts that of a login that has begun from no other host.
func TestOIDC_BehindTLS(t *testing.T) {
	t.Parallel()
	const public = "https://muster.example"
	a, _ := withProvider(t, func(o *app.Options) { o.PublicURL = public })
	v := newBrowser(t, "http://"+a.Addr().String())
	status, text := v.send(http.MethodPost, "/console/api/login/provider", `{"to":"/console/"}`, map[string]string{"Content-Type": "application/json", "Origin": public + ":443"})
	var out struct{ URL string }
	if err := json.Unmarshal([]byte(text), &out); err != nil || status != http.StatusOK {
		t.Fatalf("begin: %d %s", status, text)
	}
	kept := v.header.Get("Set-Cookie")
	name, _, _ := strings.Cut(kept, ";")
	if !strings.HasPrefix(kept, "__Host-") || !strings.Contains(kept, "; Secure") || !strings.Contains(kept, "Path=/;") || strings.Contains(kept, "Domain") {
		t.Errorf("kept meanwhile: %s", kept)
	}
	back := v.authorize(out.URL)
	if !strings.HasPrefix(back, public+callback+"?") {
		t.Fatalf("sent back to %s", back)
	}
	v.send(http.MethodGet, strings.TrimPrefix(back, public), "", map[string]string{"Cookie": name})
	set := strings.Join(v.header.Values("Set-Cookie"), "\n")
	if !strings.Contains(set, "Secure; SameSite=Strict") || strings.Contains(set, "_problem") {
		t.Errorf("after the login: %s", set)
	}
}

// One address can begin only so many logins, since each asks the provider.
func TestOIDC_Limited(t *testing.T) {
	t.Parallel()
	a, _ := withProvider(t, func(o *app.Options) {
		o.Limits = map[string]limit.Rate{"logins": {PerSecond: 0.001, Burst: 3}, "operator": {PerSecond: 0.001, Burst: 2}}
	})
	v := newBrowser(t, a.URL())
	if problem := v.whole(); problem != "" {
		t.Fatal(problem)
	}
	back := v.authorize(v.begin("/console/"))
	if _, problem := v.comeBack(back); !strings.Contains(problem, `"logins"`) {
		t.Errorf("the fourth step: %q", problem)
	}
	me, _ := v.me()
	v.me()
	if status, text := v.call("ListFleets", `{}`, nil); status != http.StatusBadRequest || !strings.Contains(text, me.Name) || !strings.Contains(text, "Throttling") {
		t.Errorf("the third request of an operator: %d %s", status, text)
	}
}
