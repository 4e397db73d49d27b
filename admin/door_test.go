package admin_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/admin"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

// office is a door with its own state, and the key that sends the requests.
type office struct {
	*testing.T
	st     *store.Store
	events *event.Log
	keys   *auth.Service
	door   *admin.Door
	sender string // access key id; "" sends no credentials
}

func open(t *testing.T) *office {
	t.Helper()
	master, err := auth.NewMaster(make([]byte, auth.MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	o := &office{T: t, st: store.New(store.Options{Driver: store.NewMemory()})}
	o.events = event.New(o.st, event.Options{})
	o.keys = auth.New(o.st, o.events, master, nil)
	if err := o.st.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.door = admin.New(admin.Options{Store: o.st, Keys: o.keys, Allow: o.allow})
	first, err := o.keys.Create(t.Context(), auth.Spec{Name: "first", Role: auth.Admin})
	if err != nil {
		t.Fatal(err)
	}
	o.sender = first.AccessKeyID
	return o
}

// allow trusts the sender's key id without a signature; package auth decides what the
// key may do.
func (o *office) allow(_ *http.Request, _ []byte, action auth.Action, resources ...string) (auth.Caller, error) {
	if o.sender == "" {
		return auth.Caller{}, fault.New(fault.MissingAuthentication, "sign the request")
	}
	caller, err := o.keys.Caller(o.sender)
	if err == nil {
		err = caller.May(action, resources...)
	}
	return caller, err
}

// ask sends a request and returns the response's status and body.
func (o *office) ask(method, path, body string) (int, map[string]any) {
	o.Helper()
	w := httptest.NewRecorder()
	o.door.ServeHTTP(w, httptest.NewRequestWithContext(o.Context(), method, path, strings.NewReader(body)))
	if got := w.Header().Get("Cache-Control"); got != "no-store" {
		o.Errorf("%s %s: Cache-Control is %q; what a proxy keeps may be a secret", method, path, got)
	}
	var out map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		o.Fatalf("%s %s: %d %q: %v", method, path, w.Code, w.Body, err)
	}
	return w.Code, out
}

// done is like ask for requests that must succeed.
func (o *office) done(method, path, body string) map[string]any {
	o.Helper()
	status, out := o.ask(method, path, body)
	if status != http.StatusOK {
		o.Fatalf("%s %s %s: %d %v", method, path, body, status, out)
	}
	return out
}

// refused checks that a request fails with a status and a text in its message.
func (o *office) refused(method, path, body string, want int, says string) {
	o.Helper()
	status, out := o.ask(method, path, body)
	message, _ := out["message"].(string)
	if status != want || !strings.Contains(message, says) {
		o.Errorf("%s %s %.80s: %d %q, want %d about %q", method, path, body, status, message, want, says)
	}
}

// statuses returns the status of each key by its name.
func (o *office) statuses() map[string]string {
	o.Helper()
	all := map[string]string{}
	for _, k := range o.done("GET", "/admin/v1/keys", "")["keys"].([]any) {
		k := k.(map[string]any)
		if _, told := k["secret"]; told {
			o.Errorf("the list has the secret of %s", k["name"])
		}
		all[k["name"].(string)+" "+k["id"].(string)] = k["status"].(string)
	}
	return all
}

// A key is created as requested, rotated, disabled and deleted; each change names the
// sender as its actor.
func TestKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		defer o.st.Close()
		end := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second)
		made := o.done("POST", "/admin/v1/keys", `{"name": "ci", "role": "operator", "scope": {"tags": {"team": "red"}}, "expires": "`+end.Format(time.RFC3339)+`"}`)
		id := made["id"].(string)
		if secret, ok := o.keys.Secret(id); !ok || secret != made["secret"] || made["status"] != "ENABLED" || made["role"] != "operator" {
			t.Errorf("the new key is %v", made)
		}
		k, err := o.keys.Key(o.st.View(), id)
		if err != nil || !k.Expires.Equal(end) || k.Scope.Tags["team"] != "red" {
			t.Errorf("the key is kept as %+v, %v", k, err)
		}
		next := o.done("POST", "/admin/v1/keys/"+id+"/rotate", `{"old_until": "`+time.Now().Add(time.Hour).UTC().Format(time.RFC3339)+`"}`)
		if next["id"] == id || next["secret"] == made["secret"] || next["name"] != "ci" || next["expires"] == nil {
			t.Errorf("the key in its place is %v", next)
		}
		if _, ok := o.keys.Secret(id); !ok {
			t.Error("the old key ended before its time")
		}
		if out := o.done("POST", "/admin/v1/keys/"+next["id"].(string)+"/disable", ""); out["status"] != "DISABLED" {
			t.Errorf("disabled: %v", out)
		}
		if _, err := o.keys.Caller(next["id"].(string)); !fault.Is(err, fault.UnrecognizedClient) {
			t.Errorf("a disabled key is taken: %v", err)
		}
		wait.Pass(time.Hour)
		all := o.statuses()
		if all["ci "+id] != "EXPIRED" || all["ci "+next["id"].(string)] != "DISABLED" || all["first "+o.sender] != "ENABLED" || len(all) != 3 {
			t.Errorf("the keys are %v", all)
		}
		if out := o.done("POST", "/admin/v1/keys/"+next["id"].(string)+"/enable", ""); out["status"] != "ENABLED" {
			t.Errorf("enabled again: %v", out)
		}
		if out := o.done("DELETE", "/admin/v1/keys/"+id, ""); len(out) != 0 {
			t.Errorf("deleted: %v", out)
		}
		o.refused("DELETE", "/admin/v1/keys/"+id, "", 404, id)
		changes, err := o.events.Read(t.Context(), event.Query{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		mine := 0
		for _, e := range changes {
			if e.Value.Principal == o.sender {
				mine++
			}
		}
		if mine != 5 { // created, rotated, disabled, enabled, deleted
			t.Errorf("%d of %d changes name who made them, want 5", mine, len(changes))
		}
	})
}

// An invalid request changes nothing, and the error says what is wrong.
func TestKeys_Refusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		defer o.st.Close()
		operator, err := o.keys.Create(t.Context(), auth.Spec{Name: "op", Role: auth.Operator})
		if err != nil {
			t.Fatal(err)
		}
		before := o.st.View().Digest()
		for _, c := range []struct {
			method, path, body string
			status             int
			says               string
		}{
			{"POST", "keys", `{"role": "operator"}`, 400, "name"},
			{"POST", "keys", `{"name": "a"}`, 400, "role"},
			{"POST", "keys", `{"name": "a", "role": "root"}`, 400, "root"},
			{"POST", "keys", `{"name": "a", "role": "operator", "roles": []}`, 400, "roles"},
			{"POST", "keys", `{"name": "a", "role": "operator"} {}`, 400, "more than one"},
			{"POST", "keys", `{"name": `, 400, "body"},
			{"POST", "keys", `{"name": "a", "role": "operator", "expires": "2000-01-01T00:00:00Z"}`, 400, "expires"}, // synctest begins in 2000
			{"POST", "keys", `{"name": "a", "role": "operator", "expires": "soon"}`, 400, "body"},
			{"POST", "keys", `{"name": "a", "role": "admin", "scope": {"tags": {"a": "b"}}}`, 400, "scope"},
			{"POST", "keys", `{"name": "a", "role": "operator", "scope": {"resources": ["*"]}}`, 400, "scope"},
			{"POST", "keys", strings.Repeat(" ", 64<<10) + `{}`, 400, "65536 bytes"},
			{"POST", "keys/MSTRNONE/rotate", `{}`, 404, "MSTRNONE"},
			{"POST", "keys/" + operator.AccessKeyID + "/rotate", `{"old_until": 5}`, 400, "body"},
			{"POST", "keys/MSTRNONE/disable", ``, 404, "MSTRNONE"},
			{"POST", "keys/MSTRNONE/enable", ``, 404, "MSTRNONE"},
			{"DELETE", "keys/MSTRNONE", ``, 404, "MSTRNONE"},
			{"POST", "keys/" + o.sender + "/disable", ``, 409, "admin"}, // the last one
			{"DELETE", "keys/" + o.sender, ``, 409, "admin"},
			{"GET", "nothing", ``, 404, "/admin/v1/nothing"},
			{"PUT", "keys", ``, 404, "PUT"},
		} {
			o.refused(c.method, "/admin/v1/"+c.path, c.body, c.status, c.says)
		}
		paths := []string{"GET keys", "POST keys", "POST keys/" + o.sender + "/rotate", "POST keys/" + o.sender + "/disable",
			"POST keys/" + o.sender + "/enable", "DELETE keys/" + o.sender}
		first := o.sender
		for _, sender := range []struct {
			id     string
			status int
			says   string
		}{{"", 401, "sign"}, {"MSTRNONE", 401, "MSTRNONE"}, {operator.AccessKeyID, 403, "operator"}} {
			o.sender = sender.id
			for _, request := range paths {
				method, path, _ := strings.Cut(request, " ")
				o.refused(method, "/admin/v1/"+path, `{"name": "mine", "role": "admin"}`, sender.status, sender.says)
			}
		}
		o.sender = first
		if o.st.View().Digest() != before {
			t.Error("a refused request changed the state")
		}
	})
}

// A route of another package is only for authorized callers, and gets the body and the
// sender's name; an error that is not a fault is not shown to callers.
func TestHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t)
		defer o.st.Close()
		var got []string
		o.door.Handle("POST /admin/v1/things/{id}", auth.ReadAudit, func(r *http.Request, body []byte) (any, error) {
			got = append(got, r.PathValue("id")+" "+string(body))
			if len(body) == 0 {
				return nil, http.ErrServerClosed
			}
			return map[string]int{"n": 1}, nil
		})
		if out := o.done("POST", "/admin/v1/things/a", "b"); out["n"] != 1.0 {
			t.Errorf("the answer is %v", out)
		}
		o.refused("POST", "/admin/v1/things/c", "", 500, "the log of the server")
		o.sender = ""
		o.refused("POST", "/admin/v1/things/d", "e", 401, "sign")
		if want := []string{"a b", "c "}; !slices.Equal(got, want) {
			t.Errorf("the handler got %q, want %q", got, want)
		}
	})
}
