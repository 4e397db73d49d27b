package app_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
)

// receiver is a server that an audit sink posts to. It keeps what has a valid signature.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	secret string
	kept   bytes.Buffer
	got    chan struct{} // nudged after each batch
}

func newReceiver(t *testing.T, secret string) *receiver {
	t.Helper()
	r := &receiver{secret: secret, got: make(chan struct{}, 1)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		at, sum, _ := strings.Cut(req.Header.Get("Muster-Signature"), ",v1=")
		mac := hmac.New(sha256.New, []byte(r.secret))
		fmt.Fprintf(mac, "%s.%s", strings.TrimPrefix(at, "t="), body)
		if err != nil || sum != hex.EncodeToString(mac.Sum(nil)) || req.Header.Get("Content-Type") != "application/x-ndjson" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		r.kept.Write(body)
		select {
		case r.got <- struct{}{}:
		default:
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kept.String()
}

// await waits until all of the words have been received.
func (r *receiver) await(t *testing.T, words ...string) string {
	t.Helper()
	patience := time.After(time.Minute)
	for {
		text, missing := r.text(), ""
		for _, word := range words {
			if !strings.Contains(text, word) {
				missing = word
			}
		}
		if missing == "" {
			return text
		}
		select {
		case <-r.got:
		case <-patience:
			t.Fatalf("%q does not come to the sink; it has\n%s", missing, text)
		}
	}
}

// TestAuditSink sends the audit log to a URL across a restart with offline work in
// between, and checks the chain of what was received.
func TestAuditSink(t *testing.T) {
	t.Parallel()
	sink := newReceiver(t, "s3cret")
	o := options(t, func(o *app.Options) {
		o.Store, o.AcceptAny, o.AuditSink, o.AuditSinkSecret = "sqlite", false, sink.URL, "s3cret"
	})
	a := start(t, func(c *app.Options) { *c = o })
	admin := firstKey(t, a)
	if err := admin.Call(t.Context(), "CreateLocation", map[string]any{"LocationName": "custom-a"}, nil); err != nil {
		t.Fatal(err)
	}
	sink.await(t, "location/custom-a")
	stop(t, a)

	keys, err := app.OpenKeys(t.Context(), o, false)
	if err != nil {
		t.Fatal(err)
	}
	offline := &client.Client{Endpoint: "http://offline", HTTP: &http.Client{Transport: keys}}
	made, err := offline.Keys().Create(t.Context(), client.KeySpec{Name: "emergency", Role: "operator"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := offline.Keys().Disable(t.Context(), "MSTRNONE"); err == nil {
		t.Error("a key was disabled that does not exist")
	}
	if err := keys.Close(); err != nil {
		t.Fatal(err)
	}

	sink.mu.Lock()
	sink.secret = "changed"
	sink.mu.Unlock()
	o.Reread = func() (app.Files, error) { return app.Files{AuditSinkSecret: "changed"}, nil }
	again := start(t, func(c *app.Options) { *c = o })
	admin.Endpoint = again.URL()
	if err := again.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := admin.Call(t.Context(), "CreateLocation", map[string]any{"LocationName": "custom-b"}, nil); err != nil {
		t.Fatal(err)
	}
	text := sink.await(t, "location/custom-b", made.ID, "MSTRNONE")
	own, _, err := admin.AuditLog().Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	v, err := audit.VerifyExport(strings.NewReader(text))
	if err != nil || v.Problem != "" || v.From != 1 || v.Last != own.Last || v.Hash != own.Hash {
		t.Errorf("the sink keeps %+v, %v; the server has %+v", v, err, own)
	}
	var shown bytes.Buffer // what an administrator reads is an export as well
	view := &terminal.Terminal{Client: admin, Out: &shown, JSON: true}
	if err := view.Audit(t.Context(), client.AuditQuery{}); err != nil {
		t.Fatal(err)
	}
	if v, err := audit.VerifyExport(&shown); err != nil || v.Problem != "" || v.Records < own.Records {
		t.Errorf("what is shown is %+v, %v", v, err)
	}
	seen := 0
	err = admin.AuditLog().Read(t.Context(), client.AuditQuery{Action: "muster:ManageKeys"}, func(r client.AuditRecord) error {
		if r.Door != "offline" {
			return nil
		}
		seen++
		if !strings.HasPrefix(r.Source, "user ") || r.KeyName != "terminal" || (r.Outcome == "ok") == strings.Contains(fmt.Sprint(r.Resources), "MSTRNONE") {
			t.Errorf("offline work is recorded as %+v", r)
		}
		return nil
	})
	if err != nil || seen != 2 {
		t.Errorf("%d records of two offline commands, %v", seen, err)
	}
	if strings.Contains(text, made.Secret) {
		t.Error("the sink was told a secret")
	}
}

// TestAuditSink_Options checks that invalid sinks are refused without showing the URL,
// which may contain a password.
func TestAuditSink_Options(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ sink, secret, level, want string }{
		{"ftp://user:s3cret@host/", "", "", "audit-sink: ftp://"},
		{"http://", "", "", "audit-sink: url"},
		{"/var/log/audit", "s3cret", "", "audit-sink-secret"},
		{"", "s3cret", "", "audit-sink-secret"},
		{"audit.jsonl", "", "off", "audit off"},
	} {
		o := options(t, func(o *app.Options) {
			o.AuditSink, o.AuditSinkSecret, o.Audit.Level = c.sink, c.secret, audit.Level(c.level)
		})
		a, err := app.New(o)
		if err == nil {
			err = a.Start(t.Context())
			stop(t, a)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestAudit_GameServers checks that refused game servers are recorded: the first
// immediately, the others as a count.
func TestAudit_GameServers(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) { o.Store, o.AcceptAny = "sqlite", false })
	a := start(t, func(c *app.Options) { *c = o })
	admin := firstKey(t, a)
	url := "ws" + strings.TrimPrefix(a.URL(), "http") + "/?pID=p&ComputeId=host-1&FleetId=fleet-1&sdkVersion=5.2.0&sdkLanguage=Go&Authorization=stolen"
	for range 30 {
		_, answer, err := websocket.DefaultDialer.DialContext(t.Context(), url, nil)
		if err == nil || answer == nil || answer.StatusCode != http.StatusForbidden {
			t.Fatalf("a game server with a stolen token: %v", err)
		}
	}
	const refusal = "gameserver muster:ConnectGameServer  UnauthorizedException [arn:aws:gamelift:us-east-1:000000000000:fleet/fleet-1 host-1]"
	lines := audited(t, admin, refusal)
	lines = slices.DeleteFunc(lines, func(l string) bool { return !strings.HasPrefix(l, "gameserver") })
	if len(lines) != 1 {
		t.Errorf("30 refused connections are recorded at once as\n%s", strings.Join(lines, "\n"))
	}
	stop(t, a) // the latest time at which counts are recorded
	admin.Endpoint = start(t, func(c *app.Options) { *c = o }).URL()
	var counts []int
	err := admin.AuditLog().Read(t.Context(), client.AuditQuery{Action: "muster:ConnectGameServer"}, func(r client.AuditRecord) error {
		counts = append(counts, r.Count)
		return nil
	})
	if err != nil || !slices.Equal(counts, []int{0, 29}) {
		t.Errorf("30 refused connections are records with the counts %v, %v; want one, and 29 more", counts, err)
	}
}
