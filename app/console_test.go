package app_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/cli/client"
)

// browser is a browser with cookies, in which redirects are followed by hand.
type browser struct {
	*testing.T
	http   *http.Client
	url    string
	csrf   string
	header http.Header  // of the last answer
	cookie *http.Cookie // the last one that was set
}

func newBrowser(t *testing.T, url string) *browser {
	t.Helper()
	return &browser{T: t, url: url, http: &http.Client{Jar: must(cookiejar.New(nil))(t), CheckRedirect: direct.CheckRedirect}}
}

// send sends a request to an address, or to a path of the app; header has more of its headers.
func (b *browser) send(method, at, body string, header map[string]string) (status int, text string) {
	b.Helper()
	if strings.HasPrefix(at, "/") {
		at = b.url + at
	}
	all := map[string]string{}
	if b.csrf != "" {
		all["X-Muster-Csrf"] = b.csrf
	}
	maps.Copy(all, header)
	answer, text := send(b, b.http, method, at, body, all)
	for _, c := range answer.Cookies() {
		b.cookie = c
	}
	b.header = answer.Header
	return answer.StatusCode, text
}

// view reads a view of the console.
func (b *browser) view(query string) (status int, text string) {
	b.Helper()
	return b.send(http.MethodGet, "/console/api/views/"+query, "", nil)
}

// kept returns the cookies that go to the app.
func (b *browser) kept() []*http.Cookie {
	u, _ := url.Parse(b.url)
	return b.http.Jar.Cookies(u)
}

// keep replaces all cookies.
func (b *browser) keep(cookies ...*http.Cookie) {
	u, _ := url.Parse(b.url)
	b.http.Jar, _ = cookiejar.New(nil)
	b.http.Jar.SetCookies(u, cookies)
}

var asJSON = map[string]string{"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}

// logIn logs in with a key, and returns the browser.
func (b *browser) logIn(key client.Credentials) *browser {
	b.Helper()
	if status, text := b.send(http.MethodPost, "/console/api/login", `{"key_id":"`+key.AccessKeyID+`","secret":"`+key.SecretAccessKey+`"}`, asJSON); status != http.StatusNoContent {
		b.Fatalf("log in: %d %s", status, text)
	}
	if me, status := b.me(); me.CSRF == "" {
		b.Fatalf("me: %d %+v", status, me)
	}
	return b
}

// person is what the app says of who is logged in.
type person struct {
	Key                            string `json:"key_id"`
	Login, Name, Role, Scope, CSRF string
	Person                         bool
	Expires                        time.Time
}

// me asks who is logged in.
func (b *browser) me() (p person, status int) {
	b.Helper()
	status, text := b.send(http.MethodGet, "/console/api/me", "", nil)
	check(b, json.Unmarshal([]byte(text), &p))
	b.csrf = p.CSRF
	return p, status
}

// call calls an operation of the API with the login.
func (b *browser) call(operation, input string, header map[string]string) (status int, text string) {
	b.Helper()
	all := map[string]string{"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "GameLift." + operation}
	maps.Copy(all, header)
	return b.send(http.MethodPost, "/", input, all)
}

// A person logs in with a key, and may do what the key may: no more, and no longer.
func TestConsole_LogIn(t *testing.T) {
	t.Parallel()
	a, keys, _ := serve(t, "read-only", "operator")
	b := newBrowser(t, a.URL())
	expect := func(what string, want int, method, path, body string, header map[string]string) {
		t.Helper()
		if status, text := b.send(method, path, body, header); status != want {
			t.Errorf("%s: %d %s, want %d", what, status, text, want)
		}
	}
	const form, login = "application/x-www-form-urlencoded", "/console/api/login"
	expect("a view for nobody", http.StatusUnauthorized, http.MethodGet, "/console/api/views/now", "", nil)
	expect("events for nobody", http.StatusUnauthorized, http.MethodGet, "/console/api/events", "", nil)
	for _, path := range []string{"/console/api/rules/check", "/console/api/simulations"} { // who asks comes before what
		expect(path+" for nobody", http.StatusUnauthorized, http.MethodPost, path, `no JSON`, asJSON)
	}
	expect("a wrong secret", http.StatusUnauthorized, http.MethodPost, login, `{"key_id":"`+keys["operator"].Credentials.AccessKeyID+`","secret":"guess"}`, asJSON)
	if b.cookie != nil {
		t.Fatal("a cookie for a wrong secret")
	}
	expect("a form, which any page can send", http.StatusUnsupportedMediaType, http.MethodPost, login, `key_id=a&secret=b`, map[string]string{"Content-Type": form})
	expect("nothing", http.StatusBadRequest, http.MethodPost, login, `{}`, asJSON)

	// A cookie that somebody has planted does not become the login's.
	planted := strings.Repeat("A", 43)
	b.keep(&http.Cookie{Name: "muster_00000000", Value: planted})
	b.logIn(keys["operator"].Credentials)
	if b.cookie.Value == planted || len(b.cookie.Value) < 40 {
		t.Errorf("the cookie is %q", b.cookie.Value)
	}
	if c := b.cookie; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || c.Path != "/" || c.MaxAge < 40_000 {
		t.Errorf("the cookie is %+v", c)
	}

	for view, want := range map[string]int{"now": 200, "queues": 200, "matchmakers": 200, "sessions": 200, "crashes": 200, "search?text=x": 200, "queue?name=no": 404, "ticket?id=no": 404, "fleet?id=fleet-no": 404} {
		expect("view "+view, want, http.MethodGet, "/console/api/views/"+view, "", nil)
	}
	if status, text := b.call("CreateLocation", `{"LocationName":"custom-a"}`, nil); status != http.StatusOK {
		t.Errorf("a change by an operator: %d %s", status, text)
	}
	expect("keys for an operator", http.StatusForbidden, http.MethodGet, "/admin/v1/keys", "", nil)

	csrf := b.csrf
	for what, header := range map[string]map[string]string{
		"without the page's proof":       {"X-Muster-Csrf": ""},
		"with another proof":             {"X-Muster-Csrf": "x" + csrf},
		"from a page of another site":    {"Sec-Fetch-Site": "cross-site"},
		"from a page of a sister domain": {"Sec-Fetch-Site": "same-site"},
	} {
		if status, text := b.call("CreateLocation", `{"LocationName":"custom-b"}`, header); status != http.StatusBadRequest && status != http.StatusForbidden {
			t.Errorf("a change %s: %d %s", what, status, text)
		}
	}
	if status, text := b.call("ListLocations", `{}`, nil); !strings.Contains(text, "custom-a") || strings.Contains(text, "custom-b") {
		t.Errorf("the locations are %d %s", status, text)
	}

	reader := newBrowser(t, a.URL()).logIn(keys["read-only"].Credentials)
	if status, text := reader.call("DeleteLocation", `{"LocationName":"custom-a"}`, nil); status < 400 || !strings.Contains(text, "read-only") {
		t.Errorf("a change by a reader: %d %s", status, text)
	}
	reader.csrf = csrf // of the other login
	if status, text := reader.call("ListLocations", `{}`, nil); status < 400 {
		t.Errorf("another login's proof: %d %s", status, text)
	}

	expect("log out", http.StatusNoContent, http.MethodDelete, login, "", nil)
	if b.cookie.MaxAge >= 0 {
		t.Errorf("the cookie stays: %+v", b.cookie)
	}
	seen := map[string]int{}
	check(t, firstKey(t, a).AuditLog().Read(t.Context(), client.AuditQuery{}, func(r client.AuditRecord) error {
		seen[r.Action+" "+r.Outcome]++
		return nil
	}))
	// Reading is not recorded; what changes is, with who tried.
	if seen["muster:LogIn ok"] != 2 || seen["muster:LogOut ok"] != 1 || seen["muster:UseConsole ok"] != 0 || seen["CreateLocation ok"] != 1 {
		t.Errorf("the audit log has %v", seen)
	}
}

// An administrator sees who is logged in and ends a login; nobody else may. What the login
// had open ends, too.
func TestConsole_Logins(t *testing.T) {
	t.Parallel()
	a, keys, _ := serve(t, "admin", "operator", "read-only")
	admin, user := newBrowser(t, a.URL()).logIn(keys["admin"].Credentials), newBrowser(t, a.URL()).logIn(keys["operator"].Credentials)
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
	if me, _ := admin.me(); me.Login != own.ID {
		t.Errorf("my login is %q, want %q", me.Login, own.ID)
	}

	ended := make(chan error, 1)
	stream, err := user.http.Get(a.URL() + "/console/api/events?follow=true")
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
	if _, status := user.me(); status != http.StatusUnauthorized {
		t.Errorf("the login that was ended: %d", status)
	}
	if err := <-ended; err != nil {
		t.Errorf("the stream of events: %v", err)
	}
	if _, status := admin.me(); status != http.StatusOK {
		t.Errorf("the login of the administrator: %d", status)
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
		answer, _ := send(t, direct, http.MethodGet, a.URL()+path, "", map[string]string{"Accept": accept})
		return answer
	}
	if answer := get("/", "text/html,application/xhtml+xml"); answer.StatusCode != http.StatusFound || answer.Header.Get("Location") != "/console/" {
		t.Errorf("/ for people: %d to %q", answer.StatusCode, answer.Header.Get("Location"))
	}
	if answer := get("/", "*/*"); answer.StatusCode != http.StatusNotFound || answer.Header.Get("Content-Type") != "application/json" {
		t.Errorf("/ for programs: %d, %s", answer.StatusCode, answer.Header.Get("Content-Type"))
	}
	kinds := map[string]string{"/console/": "text/html", "/console/fleets": "text/html", "/console/assets/icon.svg": "image/svg+xml"}
	page := must(os.ReadFile("../console/web/dist/index.html"))(t)
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

// An operator bans a player and lifts the ban with the console's login; stored data is for
// roles that may read it.
func TestConsole_Player(t *testing.T) {
	t.Parallel()
	a, keys, _ := serve(t, "admin", "read-only")
	player := guest(t, a)
	operator, reader := newBrowser(t, a.URL()).logIn(keys["admin"].Credentials), newBrowser(t, a.URL()).logIn(keys["read-only"].Credentials)
	server := "/player/v1/server/players/" + player
	long := strings.Repeat("x", 5000)
	for name, value := range map[string]string{"server/rank": `{"skill":1200}`, "secret/notes": `"` + long + `"`} {
		if status, text := operator.send(http.MethodPut, server+"/data/"+name, value, asJSON); status != http.StatusCreated {
			t.Fatalf("store %s: %d %s", name, status, text)
		}
	}
	var data struct {
		Data struct {
			Values []struct {
				Namespace, Key, Value string
				Size                  int
			}
		}
	}
	status, text := operator.view("player-data?id=" + player)
	if err := json.Unmarshal([]byte(text), &data); err != nil || status != http.StatusOK || len(data.Data.Values) != 2 {
		t.Fatalf("stored data: %d %s, %v", status, text, err)
	}
	if v := data.Data.Values; v[0].Key != "notes" || v[0].Size != 5002 || len(v[0].Value) != 4096 || v[1].Namespace != "server" || v[1].Value != `{"skill":1200}` {
		t.Errorf("stored data: %+v", v)
	}
	if status, text := reader.view("player-data?id=" + player); status != http.StatusForbidden {
		t.Errorf("stored data for a reader: %d %s", status, text)
	}
	if status, text := operator.view("player-data?id=nobody"); status != http.StatusNotFound {
		t.Errorf("stored data of nobody: %d %s", status, text)
	}

	banned := func() (banned bool, reason string) {
		t.Helper()
		var page struct {
			Data struct {
				Account struct {
					Name   string
					Banned bool
					Reason string
				}
			}
		}
		_, text := reader.view("player?id=" + player)
		if err := json.Unmarshal([]byte(text), &page); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		return page.Data.Account.Banned, page.Data.Account.Reason
	}
	ban := func(b *browser, until time.Time, csrf string) int {
		t.Helper()
		header := map[string]string{"Content-Type": "application/json"}
		if csrf != "" {
			header["X-Muster-Csrf"] = csrf
		}
		status, _ := b.send(http.MethodPut, server+"/ban", `{"until":"`+until.UTC().Format(time.RFC3339)+`","reason":"aimbot"}`, header)
		return status
	}
	if status := ban(reader, time.Now().Add(time.Hour), ""); status != http.StatusForbidden {
		t.Errorf("a ban by a reader: %d", status)
	}
	if status := ban(operator, time.Now().Add(time.Hour), "x"); status < 400 {
		t.Errorf("a ban without the page's proof: %d", status)
	}
	if is, _ := banned(); is {
		t.Fatal("is banned, although nobody could")
	}
	if status := ban(operator, time.Now().Add(time.Hour), ""); status != http.StatusNoContent {
		t.Fatalf("a ban: %d", status)
	}
	if is, reason := banned(); !is || reason != "aimbot" {
		t.Errorf("after the ban: %t, %q", is, reason)
	}
	if status := ban(operator, time.Now().Add(-time.Second), ""); status != http.StatusNoContent {
		t.Fatalf("lifting the ban: %d", status)
	}
	if is, _ := banned(); is {
		t.Error("is still banned")
	}
}

const labRules = `{"ruleLanguageVersion": "1.0", "playerAttributes": [{"name": "skill", "type": "number"}],
"teams": [{"name": "duel", "minPlayers": 1, "maxPlayers": 1, "quantity": 2}],
"rules": [{"name": "Close", "type": "batchDistance", "batchAttribute": "skill", "maxDistance": 50}]}`

// Who may read matchmaking may check and simulate rule sets, from the console's own pages;
// nobody else may.
func TestConsole_Rules(t *testing.T) {
	t.Parallel()
	a, keys, _ := serve(t, "read-only", "game-server")
	quoted := must(json.Marshal(labRules))(t)
	body := `{"body":` + string(quoted) + `}`
	simulation := func(more string) string {
		return `{"a":` + string(quoted) + `,"b":` + strings.Replace(string(quoted), `: 50`, `: 500`, 1) + `,"minutes":5,"runs":2,"seed":1,` + more +
			`"players":{"populations":[{"tickets_per_minute":30,"attributes":{"skill":{"number":{"normal":{"mean":1500,"sd":300},"min":0}}}}]}}`
	}
	b := newBrowser(t, a.URL())
	try := func(what string, want int, path, body, text string, header map[string]string) string {
		t.Helper()
		status, got := b.send(http.MethodPost, path, body, header)
		if status != want || !strings.Contains(got, text) {
			t.Errorf("%s: %d %.300s, want %d %s", what, status, got, want, text)
		}
		return got
	}
	try("nobody", http.StatusUnauthorized, "/console/api/rules/check", body, "", asJSON)
	try("nobody", http.StatusUnauthorized, "/console/api/simulations", simulation(""), "", asJSON)
	b.logIn(keys["read-only"].Credentials)
	try("a login", http.StatusOK, "/console/api/rules/check", body, `"valid":true`, asJSON)
	proof := b.csrf
	b.csrf = ""
	try("without the proof of a page", http.StatusForbidden, "/console/api/simulations", simulation(""), "", asJSON)
	b.csrf = proof
	try("a configuration that does not exist", http.StatusNotFound, "/console/api/simulations", simulation(`"configuration":"no","since":"2026-01-02T03:04:05Z",`), "no does not exist", asJSON)
	try("runs", http.StatusBadRequest, "/console/api/simulations", strings.Replace(simulation(""), `"runs":2`, `"runs":0`, 1), "runs: must be from 1 to 20", asJSON)
	text := try("a simulation", http.StatusOK, "/console/api/simulations", simulation(""), `"result"`, asJSON)
	var last struct {
		Result struct {
			Runs int
			Rows []struct {
				Name  string
				A, B  float64
				Is    string                       `json:"b_is"`
				Range *struct{ Low, High float64 } `json:"delta_interval"`
			}
		}
	}
	for line := range strings.Lines(text) {
		check(t, json.Unmarshal([]byte(line), &last))
	}
	if r := last.Result; r.Runs != 2 || len(r.Rows) < 8 || r.Rows[0].Name != "tickets matched" || r.Rows[0].B <= r.Rows[0].A || r.Rows[0].Range == nil {
		t.Errorf("%+v", r)
	}
	host := newBrowser(t, a.URL()).logIn(keys["game-server"].Credentials)
	if status, got := host.send(http.MethodPost, "/console/api/rules/check", body, asJSON); status != http.StatusForbidden {
		t.Errorf("a role that may not read matchmaking: %d %s", status, got)
	}
	for who, want := range map[*browser]int{newBrowser(t, a.URL()): http.StatusUnauthorized, host: http.StatusForbidden, b: http.StatusOK} {
		if status, got := who.send(http.MethodGet, "/console/api/rules/templates", "", nil); status != want || want == http.StatusOK && !strings.Contains(got, `"kind":"duel"`) {
			t.Errorf("templates: %d %.300s, want %d", status, got, want)
		}
	}
}
