package app_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/cli/client"
)

// browser is a browser at the console of a server that requires keys.
type browser struct {
	*testing.T
	url    string
	cookie *http.Cookie
	csrf   string
}

// send sends a request as a page of the console does; header has more of its headers.
func (b *browser) send(method, path, body string, header map[string]string) (status int, text string) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, b.url+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	if b.cookie != nil {
		r.AddCookie(b.cookie)
	}
	if b.csrf != "" {
		r.Header.Set("X-Muster-Csrf", b.csrf)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range answer.Cookies() {
		b.cookie = c
	}
	return answer.StatusCode, string(content)
}

var asJSON = map[string]string{"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}

// logIn logs in with a key.
func (b *browser) logIn(key client.Credentials) {
	b.Helper()
	if status, text := b.send(http.MethodPost, "/console/api/login", `{"key_id":"`+key.AccessKeyID+`","secret":"`+key.SecretAccessKey+`"}`, asJSON); status != http.StatusNoContent {
		b.Fatalf("log in: %d %s", status, text)
	}
	_, text := b.send(http.MethodGet, "/console/api/me", "", nil)
	var me struct{ CSRF, Role string }
	if err := json.Unmarshal([]byte(text), &me); err != nil || me.CSRF == "" {
		b.Fatalf("me: %v, %s", err, text)
	}
	b.csrf = me.CSRF
}

// call calls an operation of the API with the login.
func (b *browser) call(operation, input string, header map[string]string) (status int, text string) {
	b.Helper()
	all := map[string]string{"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "GameLift." + operation}
	for name, value := range header {
		all[name] = value
	}
	return b.send(http.MethodPost, "/", input, all)
}

// A person logs in with a key, and may do what the key may: no more, and no longer.
func TestConsole_LogIn(t *testing.T) {
	t.Parallel()
	a, keys, _ := serve(t, "read-only", "operator")
	b := &browser{T: t, url: a.URL()}
	refused := func(what string, want, status int, text string) {
		t.Helper()
		if status != want {
			t.Errorf("%s: %d %s, want %d", what, status, text, want)
		}
	}
	status, text := b.send(http.MethodGet, "/console/api/views/now", "", nil)
	refused("a view for nobody", http.StatusUnauthorized, status, text)
	for _, path := range []string{"/console/api/rules/check", "/console/api/simulations"} { // who asks comes before what
		status, text = b.send(http.MethodPost, path, `no JSON`, asJSON)
		refused(path+" for nobody", http.StatusUnauthorized, status, text)
	}
	status, text = b.send(http.MethodPost, "/console/api/login", `{"key_id":"`+keys["operator"].Credentials.AccessKeyID+`","secret":"guess"}`, asJSON)
	refused("a wrong secret", http.StatusUnauthorized, status, text)
	if b.cookie != nil {
		t.Fatal("a cookie for a wrong secret")
	}
	status, text = b.send(http.MethodPost, "/console/api/login", `key_id=a&secret=b`, map[string]string{"Content-Type": "application/x-www-form-urlencoded"})
	refused("a form, which any page can send", http.StatusUnsupportedMediaType, status, text)
	status, text = b.send(http.MethodPost, "/console/api/login", `{}`, asJSON)
	refused("nothing", http.StatusBadRequest, status, text)

	// A cookie that somebody has planted does not become the login's.
	planted := strings.Repeat("A", 43)
	b.cookie = &http.Cookie{Name: "muster_00000000", Value: planted}
	b.logIn(keys["operator"].Credentials)
	if b.cookie.Value == planted || len(b.cookie.Value) < 40 {
		t.Errorf("the cookie is %q", b.cookie.Value)
	}
	if c := b.cookie; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || c.Path != "/" || c.MaxAge < 40_000 {
		t.Errorf("the cookie is %+v", c)
	}

	for view, want := range map[string]int{"now": 200, "queues": 200, "matchmakers": 200, "sessions": 200, "crashes": 200, "search?text=x": 200, "queue?name=no": 404, "ticket?id=no": 404, "fleet?id=fleet-no": 404} {
		status, text = b.send(http.MethodGet, "/console/api/views/"+view, "", nil)
		refused("view "+view, want, status, text)
	}
	status, text = b.call("CreateLocation", `{"LocationName":"custom-a"}`, nil)
	refused("a change by an operator", http.StatusOK, status, text)
	status, text = b.send(http.MethodGet, "/admin/v1/keys", "", nil)
	refused("keys for an operator", http.StatusForbidden, status, text)

	csrf := b.csrf
	for what, header := range map[string]map[string]string{
		"without the page's proof":       {"X-Muster-Csrf": ""},
		"with another proof":             {"X-Muster-Csrf": "x" + csrf},
		"from a page of another site":    {"Sec-Fetch-Site": "cross-site"},
		"from a page of a sister domain": {"Sec-Fetch-Site": "same-site"},
	} {
		status, text = b.call("CreateLocation", `{"LocationName":"custom-b"}`, header)
		if status != http.StatusBadRequest && status != http.StatusForbidden {
			t.Errorf("a change %s: %d %s", what, status, text)
		}
	}
	if status, text = b.call("ListLocations", `{}`, nil); !strings.Contains(text, "custom-a") || strings.Contains(text, "custom-b") {
		t.Errorf("the locations are %d %s", status, text)
	}

	reader := &browser{T: t, url: a.URL()}
	reader.logIn(keys["read-only"].Credentials)
	status, text = reader.call("DeleteLocation", `{"LocationName":"custom-a"}`, nil)
	if status < 400 || !strings.Contains(text, "read-only") {
		t.Errorf("a change by a reader: %d %s", status, text)
	}
	reader.csrf = csrf // of the other login
	status, text = reader.call("ListLocations", `{}`, nil)
	if status < 400 {
		t.Errorf("another login's proof: %d %s", status, text)
	}

	if status, text = b.send(http.MethodDelete, "/console/api/login", "", nil); status != http.StatusNoContent {
		t.Fatalf("log out: %d %s", status, text)
	}
	if b.cookie.MaxAge >= 0 {
		t.Errorf("the cookie stays: %+v", b.cookie)
	}
	admin := firstKey(t, a)
	seen := map[string]int{}
	if err := admin.AuditLog().Read(t.Context(), client.AuditQuery{}, func(r client.AuditRecord) error {
		seen[r.Action+" "+r.Outcome]++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	// Reading is not recorded; what changes is, with who tried.
	if seen["muster:LogIn ok"] != 2 || seen["muster:LogOut ok"] != 1 || seen["muster:UseConsole ok"] != 0 || seen["CreateLocation ok"] != 1 {
		t.Errorf("the audit log has %v", seen)
	}
}

// A login ends with its key, at once and for good.
func TestConsole_LogInEndsWithKey(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) { o.AcceptAny = false })
	first := firstKey(t, a)
	user := with(t, a, first, client.KeySpec{Name: "user", Role: "operator"})
	b := &browser{T: t, url: a.URL()}
	b.logIn(user.Credentials)
	if _, err := first.Keys().Disable(t.Context(), user.Credentials.AccessKeyID); err != nil {
		t.Fatal(err)
	}
	if status, text := b.send(http.MethodGet, "/console/api/views/now", "", nil); status != http.StatusUnauthorized {
		t.Errorf("a disabled key's login: %d %s", status, text)
	}
	if _, err := first.Keys().Enable(t.Context(), user.Credentials.AccessKeyID); err != nil {
		t.Fatal(err)
	}
	if status, text := b.send(http.MethodGet, "/console/api/me", "", nil); status != http.StatusUnauthorized {
		t.Errorf("the login came back: %d %s", status, text)
	}
}

// An administrator sees who is logged in and ends a login; nobody else may. What the login
// had open ends, too.
func TestConsole_Logins(t *testing.T) {
	t.Parallel()
	a, keys, _ := serve(t, "admin", "operator", "read-only")
	admin, user := &browser{T: t, url: a.URL()}, &browser{T: t, url: a.URL()}
	admin.logIn(keys["admin"].Credentials)
	user.logIn(keys["operator"].Credentials)
	for _, role := range []string{"operator", "read-only"} {
		if all, err := keys[role].Logins().List(t.Context()); err == nil {
			t.Errorf("%s sees %v", role, all)
		}
		if n, err := keys[role].Logins().End(t.Context(), keys["admin"].Credentials.AccessKeyID); err == nil {
			t.Errorf("%s has ended %d logins", role, n)
		}
	}
	all, err := keys["admin"].Logins().List(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("logged in are %+v, %v", all, err)
	}
	own, other := all[0], all[1]
	if want := (client.Login{ID: other.ID, KeyID: keys["operator"].Credentials.AccessKeyID, Name: "test operator", Role: "operator", From: "127.0.0.1",
		Created: other.Created, Expires: other.Created.Add(auth.LoginLifetime), LastSeen: other.LastSeen}); other != want || other.LastSeen.Before(other.Created) {
		t.Errorf("the login is %+v, want %+v", other, want)
	}
	_, text := admin.send(http.MethodGet, "/console/api/me", "", nil)
	var me struct{ Login string }
	if err := json.Unmarshal([]byte(text), &me); err != nil || me.Login != own.ID {
		t.Errorf("my login is %q, want %q: %v", me.Login, own.ID, err)
	}

	ended := make(chan error, 1)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL()+"/console/api/events?follow=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(user.cookie)
	stream, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || stream.StatusCode != http.StatusOK {
		t.Fatalf("follow events: %v, %v", stream, err)
	}
	go func() {
		_, err := io.Copy(io.Discard, stream.Body)
		ended <- errors.Join(err, stream.Body.Close())
	}()
	if n, err := keys["admin"].Logins().End(t.Context(), other.ID); n != 1 || err != nil {
		t.Errorf("ended: %d, %v", n, err)
	}
	if status, text := user.send(http.MethodGet, "/console/api/me", "", nil); status != http.StatusUnauthorized {
		t.Errorf("the login that was ended: %d %s", status, text)
	}
	if err := <-ended; err != nil {
		t.Errorf("the stream of events: %v", err)
	}
	if status, text := admin.send(http.MethodGet, "/console/api/me", "", nil); status != http.StatusOK {
		t.Errorf("the login of the administrator: %d %s", status, text)
	}
	if _, err := keys["admin"].Logins().End(t.Context(), other.ID); err == nil || !strings.Contains(err.Error(), "has no login") {
		t.Errorf("ended again: %v", err)
	}
	lines := audited(t, keys["admin"], "admin muster:EndLogins test operator")
	want := "admin muster:EndLogins test admin ok [" + other.ID + " " + other.KeyID + " test operator]"
	if !slices.Contains(lines, want) || slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "ReadKeys test admin") }) {
		t.Errorf("there is no record %q, or one for looking:\n%s", want, strings.Join(lines, "\n"))
	}
}

// People get pages, which may load and ask nothing but their own server. Programs get what
// they always got.
func TestConsole_Pages(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) { o.AcceptAny = false })
	get := func(path, accept string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", accept)
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer
	}
	if answer := get("/", "text/html,application/xhtml+xml"); answer.StatusCode != http.StatusFound || answer.Header.Get("Location") != "/console/" {
		t.Errorf("/ for people: %d to %q", answer.StatusCode, answer.Header.Get("Location"))
	}
	if answer := get("/", "*/*"); answer.StatusCode != http.StatusNotFound || answer.Header.Get("Content-Type") != "application/json" {
		t.Errorf("/ for programs: %d, %s", answer.StatusCode, answer.Header.Get("Content-Type"))
	}
	kinds := map[string]string{"/console/": "text/html", "/console/fleets": "text/html", "/console/assets/icon.svg": "image/svg+xml"}
	page, err := os.ReadFile("../console/web/dist/index.html")
	if err != nil {
		t.Fatal(err)
	}
	loaded := regexp.MustCompile(`"(/console/assets/\w+-\w+\.(js|css))"`).FindAllStringSubmatch(string(page), -1)
	for _, name := range loaded {
		kinds[name[1]] = map[string]string{"js": "text/javascript", "css": "text/css"}[name[2]]
	}
	if len(loaded) < 3 {
		t.Fatalf("the page loads %v", loaded)
	}
	for path, kind := range kinds {
		answer := get(path, "*/*")
		h := answer.Header
		if answer.StatusCode != http.StatusOK || !strings.HasPrefix(h.Get("Content-Type"), kind) {
			t.Errorf("%s: %d, %s", path, answer.StatusCode, h.Get("Content-Type"))
		}
		policy := h.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "connect-src 'self';", "frame-ancestors 'none'", "base-uri 'none'"} {
			if !strings.Contains(policy+";", part) {
				t.Errorf("%s: the policy %q lacks %q", path, policy, part)
			}
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "DENY" || h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %v", path, h)
		}
		if keeps, want := strings.Contains(h.Get("Cache-Control"), "immutable"), strings.Contains(path, "-"); keeps != want {
			t.Errorf("%s: browsers keep it: %v, want %v", path, keeps, want)
		}
	}
	if answer := get("/console/assets/sessions-OLD.js", "*/*"); answer.StatusCode != http.StatusNotFound {
		t.Errorf("a chunk of another version: %d", answer.StatusCode)
	}
}
