package guides

import (
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"strings"
	"testing"

	"github.com/musterhq/muster/auth/oidc/oidctest"
	"github.com/musterhq/muster/test/node"
)

// TestConsole_Accounts types the command of the guide by which people log in with an identity
// provider: each has the role of a rule of the command, or is let in by none, and is listed and
// logged out by name.
func TestConsole_Accounts(t *testing.T) {
	t.Parallel()
	r := newReader(t, "console")
	provider, address := oidctest.New(t), node.Reserve(t)
	v := visitor{T: t, url: "http://" + address}
	provider.Register(oidctest.Client{ID: "muster", Secret: "s3cret", Redirect: v.url + "/console/api/login/callback"})
	r.run("umask 077; echo s3cret > oidc.secret")
	r.puts("/etc/muster/oidc.secret", "oidc.secret")
	r.puts("https://muster.example:9443", v.url)
	r.puts("https://login.example.com/realms/studio", provider.URL)
	r.follow(step{"muster serve --public-url", func(text string) {
		server := r.runs(text, "--listen", address, "--log-level warn --data data")
		r.env = append(r.env, "MUSTER_ENDPOINT="+server.URL, "MUSTER_CREDENTIALS=data/admin-credentials")
	}})
	for _, who := range []struct{ name, group, role string }{
		{"ada", "platform-team", "admin"}, {"ben", "live-ops", "operator"}, {"cleo", "support", "read-only"},
	} {
		provider.Account(account(who.name, who.group), nil)
		v.logsIn()
		me := v.me()
		if me.Role != who.role || !strings.Contains(me.Name, who.name+"@example.com") {
			t.Errorf("%s, of the group %s, is %q with the role %q", who.name, who.group, me.Name, me.Role)
		}
		if !regexp.MustCompile(`^oidc-[0-9a-f]+$`).MatchString(me.KeyID) {
			t.Errorf("the id of %s is %q", who.name, me.KeyID)
		}
		r.prints("muster admin logins", me.KeyID, who.name+"@example.com")
		r.prints("muster admin logins end " + me.KeyID)
		if me := v.me(); me.Role != "" {
			t.Errorf("the logins of %s have ended, and the next request has the role %q", who.name, me.Role)
		}
		r.prints("muster admin audit --key "+me.KeyID, who.name+"@example.com")
	}
	provider.Account(account("dan", "sales"), nil)
	if problem := v.logsIn(); !strings.Contains(problem, "dan@example.com is logged in to the provider, but has no role here") {
		t.Errorf("dan is told %q", problem)
	}
	if me := v.me(); me.Role != "" {
		t.Errorf("dan has the role %q", me.Role)
	}
}

// account returns what a provider says of somebody.
func account(name, group string) map[string]any {
	return map[string]any{"sub": name, "email": name + "@example.com", "email_verified": true, "groups": []string{"everybody", group}}
}

// visitor is somebody with a browser at the console.
type visitor struct {
	*testing.T
	url     string
	browser *http.Client
}

// logsIn presses the button of the provider, with a browser that nobody has used. It returns what the
// console says if that was in vain.
func (v *visitor) logsIn() (problem string) {
	v.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		v.Fatal(err)
	}
	v.browser = &http.Client{Jar: jar}
	r, err := http.NewRequestWithContext(v.Context(), http.MethodPost, v.url+"/console/api/login/provider", strings.NewReader(`{"to": "/console/"}`))
	if err != nil {
		v.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", v.url)
	var at struct{ URL string }
	v.reads(r, &at)
	r, err = http.NewRequestWithContext(v.Context(), http.MethodGet, at.URL, nil)
	if err != nil {
		v.Fatal(err)
	}
	v.reads(r, nil) // by the provider and back
	var said struct{ Problem string }
	v.asks("/console/api/login", &said)
	return said.Problem
}

// person is what the console says of a visitor.
type person struct {
	KeyID string `json:"key_id"`
	Name  string
	Role  string
}

// me asks who the visitor is; nobody has a role.
func (v *visitor) me() (me person) {
	v.Helper()
	v.asks("/console/api/me", &me)
	return me
}

func (v *visitor) asks(path string, out any) {
	v.Helper()
	r, err := http.NewRequestWithContext(v.Context(), http.MethodGet, v.url+path, nil)
	if err != nil {
		v.Fatal(err)
	}
	v.reads(r, out)
}

// reads sends a request, and reads the answer if it is to be read.
func (v *visitor) reads(r *http.Request, out any) {
	v.Helper()
	answer, err := v.browser.Do(r)
	if err != nil {
		v.Fatal(err)
	}
	defer answer.Body.Close()
	if out == nil {
		if answer.StatusCode != http.StatusOK {
			v.Fatalf("%s answers %s", answer.Request.URL, answer.Status)
		}
		return
	}
	if err := json.NewDecoder(answer.Body).Decode(out); err != nil {
		v.Fatalf("%s answers %s: %v", r.URL, answer.Status, err)
	}
}
