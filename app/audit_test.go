package app_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
	"github.com/musterhq/muster/internal/wait"
)

// audited returns the records of an app as lines of door, action, key, outcome and
// resources, once there is one that begins with last.
func audited(t *testing.T, c *client.Client, last string) []string {
	t.Helper()
	var lines []string
	wait.For(t, "there is a record that begins with "+last, func() error { // what changed nothing is recorded a little later
		lines = nil
		check(t, c.AuditLog().Read(t.Context(), client.AuditQuery{}, func(r client.AuditRecord) error {
			if r.Source != "127.0.0.1" || r.Time.IsZero() {
				t.Errorf("a record without its source or time: %+v", r)
			}
			lines = append(lines, fmt.Sprint(r.Door, " ", r.Action, " ", r.KeyName, r.ClaimedKeyID, " ", r.Outcome, " ", r.Resources))
			return nil
		}))
		if slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, last) }) {
			return nil
		}
		return fmt.Errorf("the records are %q", lines)
	})
	return lines
}

// recorded waits for a record that begins with last, and checks that others begin with each of want.
func recorded(t *testing.T, c *client.Client, last string, want ...string) (lines []string) {
	t.Helper()
	lines = audited(t, c, last)
	for _, w := range want {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, w) }) {
			t.Errorf("no record begins with %q:\n%s", w, strings.Join(lines, "\n"))
		}
	}
	return lines
}

// guest makes a player's account and returns its id.
func guest(t *testing.T, a *app.App) string {
	t.Helper()
	_, text := send(t, direct, http.MethodPost, a.URL()+"/player/v1/auth/guest", `{}`, asJSON)
	var login struct {
		PlayerID string `json:"player_id"`
	}
	if err := json.Unmarshal([]byte(text), &login); err != nil || login.PlayerID == "" {
		t.Fatalf("a guest is answered with %s, %v", text, err)
	}
	return login.PlayerID
}

// What is done and refused at each door is recorded, with who did it.
func TestAudit(t *testing.T) {
	t.Parallel()
	a, clients, log := serve(t, "admin", "operator", "game-backend", "read-only")
	operator, admin := clients["operator"], clients["admin"]
	answered(t, operator, "CreateLocation", map[string]any{"LocationName": "custom-a"})
	answered(t, operator, "ListFleets", map[string]any{})
	player := guest(t, a)
	check(t, clients["game-backend"].Players().Ban(t.Context(), player, time.Unix(946684800, 0), "cheats"))
	if err := operator.Call(t.Context(), "DeleteFleet", map[string]any{"FleetId": "fleet-none"}, nil); err == nil {
		t.Error("a fleet was deleted that does not exist")
	}
	if err := clients["read-only"].Call(t.Context(), "CreateLocation", map[string]any{"LocationName": "custom-b"}, nil); err == nil {
		t.Error("a read-only key made a location")
	}
	forged := *operator
	forged.Credentials.SecretAccessKey += "x"
	if err := forged.Call(t.Context(), "DeleteFleet", map[string]any{"FleetId": "fleet-none"}, nil); err == nil {
		t.Error("a forged signature is good")
	}
	must(operator.CreateJoinToken(t.Context(), client.JoinTokenInput{Location: "custom-a"}))(t)
	if err := operator.AuditLog().Read(t.Context(), client.AuditQuery{}, nil); err == nil {
		t.Error("an operator reads the audit log, which is for admins")
	}
	lines := recorded(t, admin, "admin muster:ReadAudit test operator",
		"api CreateLocation test operator ok [",
		"api DeleteFleet test operator NotFoundException [fleet-none]",
		"api CreateLocation test read-only ",
		"api DeleteFleet "+operator.Credentials.AccessKeyID+" InvalidSignatureException",
		"agent muster:JoinHost test operator ok",
		"admin muster:ReadAudit test operator AccessDenied",
		"player muster:BanPlayer test game-backend ok ["+player,
	)
	for _, l := range lines {
		if strings.Contains(l, "ListFleets") {
			t.Errorf("a read of nothing secret was recorded: %s", l)
		}
	}
	if !strings.Contains(log.String(), `"claimed_key_id":"`+operator.Credentials.AccessKeyID+`"`) || !strings.Contains(log.String(), `"source":"127.0.0.1"`) {
		t.Error("the log of requests does not say where a forged signature came from, or whose it claims to be")
	}
	v, _, err := admin.AuditLog().Verify(t.Context())
	if err != nil || v.Problem != "" || v.Records < 6 {
		t.Errorf("the chain is %+v, %v", v, err)
	}
	for _, path := range []string{"/admin/v1/audit", "/admin/v1/audit/verify"} {
		if status, _ := get(t, a.URL()+path); status != http.StatusUnauthorized {
			t.Errorf("%s without a signature is answered with %d", path, status)
		}
	}
}

// receiver is a server that an audit sink posts to. It keeps what has a valid signature.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	secret string
	kept   bytes.Buffer
}

func newReceiver(t *testing.T, secret string) *receiver {
	t.Helper()
	r := &receiver{secret: secret}
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
	return wait.Value(t, fmt.Sprintf("%q come to the sink", words), func() (string, error) {
		text := r.text()
		for _, word := range words {
			if !strings.Contains(text, word) {
				return "", fmt.Errorf("%q is missing in\n%s", word, text)
			}
		}
		return text, nil
	})
}

// TestAuditSink sends the audit log to a URL across a restart with offline work in
// between, and checks the chain of what was received.
func TestAuditSink(t *testing.T) {
	t.Parallel()
	sink := newReceiver(t, "s3cret")
	o := options(t, func(o *app.Options) {
		o.Store, o.AcceptAny, o.AuditSink, o.AuditSinkSecret = "sqlite", false, sink.URL, "s3cret"
	})
	a := begin(t, o)
	admin := firstKey(t, a)
	answered(t, admin, "CreateLocation", map[string]any{"LocationName": "custom-a"})
	sink.await(t, "location/custom-a")
	if _, err := app.OpenKeys(t.Context(), o, false); err == nil || !strings.Contains(err.Error(), "process") {
		t.Errorf("keys beside a running server: %v", err)
	}
	stop(t, a)

	keys := must(app.OpenKeys(t.Context(), o, false))(t)
	offline := &client.Client{Endpoint: "http://offline", HTTP: &http.Client{Transport: keys}}
	made := must(offline.Keys().Create(t.Context(), client.KeySpec{Name: "emergency", Role: "operator"}))(t)
	if _, err := offline.Keys().Disable(t.Context(), "MSTRNONE"); err == nil {
		t.Error("a key was disabled that does not exist")
	}
	check(t, keys.Close())

	sink.mu.Lock()
	sink.secret = "changed"
	sink.mu.Unlock()
	o.Reread = func() (app.Files, error) { return app.Files{AuditSinkSecret: "changed"}, nil }
	again := begin(t, o)
	admin.Endpoint = again.URL()
	check(t, again.Reload(t.Context()))
	answered(t, admin, "CreateLocation", map[string]any{"LocationName": "custom-b"})
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
	check(t, view.Audit(t.Context(), client.AuditQuery{}))
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

// TestAudit_GameServers checks that refused game servers are recorded: the first
// immediately, the others as a count.
func TestAudit_GameServers(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) { o.Store, o.AcceptAny = "sqlite", false })
	a := begin(t, o)
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
	admin.Endpoint = begin(t, o).URL()
	var counts []int
	err := admin.AuditLog().Read(t.Context(), client.AuditQuery{Action: "muster:ConnectGameServer"}, func(r client.AuditRecord) error {
		counts = append(counts, r.Count)
		return nil
	})
	if err != nil || !slices.Equal(counts, []int{0, 29}) {
		t.Errorf("30 refused connections are records with the counts %v, %v; want one, and 29 more", counts, err)
	}
}
