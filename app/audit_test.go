package app_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/notify"
)

// audited returns the records of an app as lines of door, action, key, outcome and
// resources, once there is one that begins with last.
func audited(t *testing.T, c *client.Client, last string) []string {
	t.Helper()
	var lines []string
	wait.For(t, "there is a record that begins with "+last, func() error { // what changed nothing is recorded a little later
		lines = nil
		err := c.AuditLog().Read(t.Context(), client.AuditQuery{}, func(r client.AuditRecord) error {
			if r.Source != "127.0.0.1" || r.Time.IsZero() {
				t.Errorf("a record without its source or time: %+v", r)
			}
			lines = append(lines, fmt.Sprint(r.Door, " ", r.Action, " ", r.KeyName, r.ClaimedKeyID, " ", r.Outcome, " ", r.Resources))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, last) }) {
			return nil
		}
		return fmt.Errorf("the records are %q", lines)
	})
	return lines
}

// TestAudit uses the doors and checks the records.
func TestAudit(t *testing.T) {
	t.Parallel()
	a, clients, log := serve(t, "admin", "operator", "read-only")
	operator, admin := clients["operator"], clients["admin"]
	if err := operator.Call(t.Context(), "CreateLocation", map[string]any{"LocationName": "custom-a"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := operator.Call(t.Context(), "ListFleets", map[string]any{}, nil); err != nil {
		t.Fatal(err)
	}
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
	if _, err := operator.CreateJoinToken(t.Context(), client.JoinTokenInput{Location: "custom-a"}); err != nil {
		t.Fatal(err)
	}
	if err := operator.AuditLog().Read(t.Context(), client.AuditQuery{}, nil); err == nil {
		t.Error("an operator reads the audit log, which is for admins")
	}
	lines := audited(t, admin, "admin muster:ReadAudit test operator")
	for _, want := range []string{
		"api CreateLocation test operator ok [",
		"api DeleteFleet test operator NotFoundException [fleet-none]",
		"api CreateLocation test read-only ",
		"api DeleteFleet " + operator.Credentials.AccessKeyID + " InvalidSignatureException",
		"agent muster:JoinHost test operator ok",
		"admin muster:ReadAudit test operator AccessDenied",
	} {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, want) }) {
			t.Errorf("no record begins with %q:\n%s", want, strings.Join(lines, "\n"))
		}
	}
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
		answer, err := http.Get(a.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without a signature is answered with %d", path, answer.StatusCode)
		}
	}
}

// Requests about notifications are recorded with the name of the sink, whether they are
// served or refused.
func TestAudit_Sinks(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	a := start(t, func(o *app.Options) {
		o.Store, o.AcceptAny = "sqlite", false
		o.Sinks = []notify.SinkConfig{{Name: "billing", Kind: notify.Webhook, URL: receiver.URL, Topics: []string{notify.Everything}}}
	})
	admin := firstKey(t, a)
	reader := with(t, a, admin, client.KeySpec{Name: "reader", Role: "read-only"})
	if n, err := admin.Webhooks().Redeliver(t.Context(), "billing"); n != 0 || err != nil {
		t.Errorf("delivered again: %d, %v", n, err)
	}
	if _, err := admin.Webhooks().Redeliver(t.Context(), "payments"); err == nil {
		t.Error("a sink that does not exist gets its dead letters again")
	}
	if _, err := reader.Webhooks().Redeliver(t.Context(), "billing"); err == nil {
		t.Error("a read-only key has dead letters delivered again")
	}
	lines := audited(t, admin, "notify UpdateGameSessionQueue reader")
	for _, want := range []string{
		"notify UpdateGameSessionQueue first ok [billing]",
		"notify UpdateGameSessionQueue first HTTP 404 [payments]",
		"notify UpdateGameSessionQueue reader AccessDeniedException [billing]",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("there is no record %q:\n%s", want, strings.Join(lines, "\n"))
		}
	}
}

// TestAudit_Offline checks the chain of a backup, and of the replay of a recording.
func TestAudit_Offline(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) {
		o.Store = "sqlite"
		o.Record = filepath.Join(t.TempDir(), "commands.log")
	})
	a := start(t, func(c *app.Options) { *c = o })
	for _, name := range []string{"custom-a", "custom-b", "custom-c"} {
		call(t, a, "CreateLocation", map[string]any{"LocationName": name})
	}
	backup := filepath.Join(t.TempDir(), "backup.db")
	if err := app.Backup(t.Context(), o, backup); err != nil {
		t.Fatal(err)
	}
	stop(t, a)
	for _, file := range []string{"", backup} {
		if report, err := app.Verify(t.Context(), o, file); err != nil || len(report.Problems) > 0 {
			t.Errorf("verify of %q: %v, %v", file, report.Problems, err)
		}
	}
	report, err := app.Replay(t.Context(), app.Options{DataDir: t.TempDir()}, o.Record)
	if err != nil || report.Divergence != nil || report.Digest != a.Digest() {
		t.Errorf("the replay of audited commands is %+v, %v", report, err)
	}
	raw, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	forged := strings.Replace(string(raw), `"action":"CreateLocation"`, `"action":"DeleteLocation"`, 1)
	if forged == string(raw) {
		t.Fatal("the backup holds no record")
	}
	if err := os.WriteFile(backup, []byte(forged), 0o600); err != nil {
		t.Fatal(err)
	}
	if report, err := app.Verify(t.Context(), o, backup); err != nil || !strings.Contains(strings.Join(report.Problems, " "), "audit") {
		t.Errorf("an edited record of a backup gives %v, %v", report.Problems, err)
	}
}

// TestAudit_Bans checks that a ban is recorded with its key.
func TestAudit_Bans(t *testing.T) {
	t.Parallel()
	a, clients, _ := serve(t, "admin", "game-backend")
	guest, err := http.Post(a.URL()+"/player/v1/auth/guest", "application/json", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Body.Close()
	var login struct {
		PlayerID string `json:"player_id"`
	}
	if err := json.NewDecoder(guest.Body).Decode(&login); err != nil || login.PlayerID == "" {
		t.Fatalf("a guest is answered with %d, %v", guest.StatusCode, err)
	}
	const body = `{"until":"2000-01-01T00:00:00Z","reason":"cheats"}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut,
		a.URL()+"/player/v1/server/players/"+login.PlayerID+"/ban", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	key := clients["game-backend"].Credentials
	err = v4.NewSigner().SignHTTP(t.Context(), aws.Credentials{AccessKeyID: key.AccessKeyID, SecretAccessKey: key.SecretAccessKey},
		request, fmt.Sprintf("%x", sha256.Sum256([]byte(body))), "gamelift", "us-east-1", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	want := "player muster:BanPlayer test game-backend ok [" + login.PlayerID
	audited(t, clients["admin"], want)
}
