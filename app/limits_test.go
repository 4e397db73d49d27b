package app_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/limit"
)

// few returns a limit of n requests, with hardly another one during a test.
func few(n int) limit.Rate { return limit.Rate{PerSecond: 1e-4, Burst: n} }

// limited runs an app with limits that requires keys, and returns a client with the first
// key, and one with a key of each role.
func limited(t *testing.T, limits map[string]limit.Rate, roles ...string) (a *app.App, first *client.Client, clients []*client.Client, log *screen) {
	t.Helper()
	log = new(screen)
	a = start(t, func(o *app.Options) {
		o.Store, o.AcceptAny, o.Limits, o.Logger = "sqlite", false, limits, jsonLog(log)
	})
	first = firstKey(t, a)
	for _, role := range roles {
		clients = append(clients, with(t, a, first, client.KeySpec{Name: "test " + role, Role: role}))
	}
	return a, first, clients, log
}

// list sends the API a request.
func list(t *testing.T, c *client.Client) error {
	t.Helper()
	return c.Call(t.Context(), "ListFleets", map[string]any{}, nil)
}

// status returns the HTTP status of a refusal.
func status(err error) int {
	if refused, ok := errors.AsType[*client.Error](err); ok {
		return refused.Status
	}
	return 0
}

// metric returns a sample, as it is in the exposition text.
func metric(t *testing.T, c *http.Client, url, name string) string {
	t.Helper()
	_, text := send(t, c, http.MethodGet, url+"/metrics", "", nil)
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// A key has its limit at all doors together; others are not affected.
func TestLimits_Keys(t *testing.T) {
	t.Parallel()
	a, _, clients, _ := limited(t, map[string]limit.Rate{"read-only": few(4)}, "read-only", "read-only", "operator")
	reader, other, operator := clients[0], clients[1], clients[2]
	for range 3 {
		check(t, list(t, reader))
	}
	must(reader.Fleets(t.Context()))(t)
	err := list(t, reader)
	if code(err) != "ThrottlingException" || status(err) != 400 || !strings.Contains(err.Error(), "--limits read-only=") || !strings.Contains(err.Error(), reader.Credentials.AccessKeyID) {
		t.Errorf("a fifth request: %v", err)
	}
	if _, err := reader.Fleets(t.Context()); status(err) != 429 {
		t.Errorf("a fifth request, to the console: %v", err)
	}
	if _, err := reader.Hosts().List(t.Context()); status(err) != 429 {
		t.Errorf("a fifth request, about hosts: %v", err)
	}
	for range 5 {
		if err := list(t, operator); err != nil {
			t.Errorf("an operator: %v", err)
		}
	}
	if err := list(t, other); err != nil {
		t.Errorf("another key of the role: %v", err)
	}
	if n := metric(t, direct, a.URL(), `muster_limited_total{limit="read-only"}`); n != "3" {
		t.Errorf("%s refused requests are counted, want 3", n)
	}
}

// Too many wrong credentials from one address are refused early, at every door; valid
// ones from there are still accepted.
func TestLimits_Credentials(t *testing.T) {
	t.Parallel()
	a, first, _, log := limited(t, map[string]limit.Rate{"credentials": few(3)})
	token := must(a.JoinToken(t.Context()))(t)
	wrong := *first
	wrong.Credentials.SecretAccessKey = "x"
	for range 3 {
		if err := list(t, &wrong); code(err) != "InvalidSignatureException" {
			t.Fatalf("a wrong secret: %v", err)
		}
	}
	if err := list(t, &wrong); code(err) != "ThrottlingException" || !strings.Contains(err.Error(), "wrong credentials") {
		t.Errorf("one too many: %v", err)
	}
	wrong.Credentials.AccessKeyID = "MSTRUNKNOWN"
	if err := list(t, &wrong); code(err) != "ThrottlingException" {
		t.Errorf("an unknown key: %v", err)
	}
	if _, err := wrong.Keys().List(t.Context()); status(err) != 429 {
		t.Errorf("administration: %v", err)
	}
	if _, err := wrong.Fleets(t.Context()); status(err) != 429 {
		t.Errorf("the console: %v", err)
	}
	for range 20 {
		if status, _ := askToJoin(t, a, "no such token"); status != http.StatusTooManyRequests {
			t.Errorf("a wrong join token: %d", status)
		}
		if status := askAsHost(t, a, "host-x.wrong"); status != http.StatusTooManyRequests {
			t.Errorf("a wrong host: %d", status)
		}
	}
	if n := strings.Count(log.String(), "a machine may not join") + strings.Count(log.String(), "an agent is refused"); n != 2 {
		t.Errorf("%d warnings are logged of 40 refusals, want the first of each kind", n)
	}
	if err := list(t, first); err != nil {
		t.Errorf("the right secret: %v", err)
	}
	status, joined := askToJoin(t, a, token)
	if status != http.StatusOK {
		t.Errorf("a good join token: %d", status)
	}
	if status := askAsHost(t, a, joined.HostID+"."+joined.Secret); status != http.StatusNotFound {
		t.Errorf("a host with its credential asks for a build that is not there: %d", status)
	}
	if n := metric(t, direct, a.URL(), `muster_limited_total{limit="credentials"}`); n != "44" {
		t.Errorf("%s refused requests are counted, want 44", n)
	}
}

// Administration, machines that join, and agents have limits of their own.
func TestLimits_Others(t *testing.T) {
	t.Parallel()
	a, first, _, _ := limited(t, map[string]limit.Rate{"administration": few(2), "joins": few(2), "agents": few(2)})
	for range 2 {
		must(first.Keys().List(t.Context()))(t)
	}
	if _, err := first.Keys().List(t.Context()); status(err) != 429 || !strings.Contains(err.Error(), "administration") {
		t.Errorf("a third request: %v", err)
	}
	if _, _, err := first.AuditLog().Verify(t.Context()); status(err) != 429 {
		t.Errorf("a third request, to the audit log: %v", err)
	}
	if err := list(t, first); err != nil {
		t.Errorf("the API: %v", err)
	}
	made := must(first.CreateJoinToken(t.Context(), client.JoinTokenInput{Uses: 5}))(t)
	var hosts []protocol.JoinResponse
	for range 2 {
		status, joined := askToJoin(t, a, made.Token)
		if status != http.StatusOK {
			t.Fatalf("join: %d", status)
		}
		hosts = append(hosts, joined)
	}
	if status, _ := askToJoin(t, a, made.Token); status != http.StatusTooManyRequests {
		t.Errorf("a third machine: %d", status)
	}
	for i, want := range []int{404, 404, 429, 404} {
		of := hosts[i/3]
		if status := askAsHost(t, a, of.HostID+"."+of.Secret); status != want {
			t.Errorf("request %d: %d, want %d", i, status, want)
		}
	}
}

// One key cannot use up all event streams: operators get theirs.
func TestMaxStreams(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) { o.Store, o.AcceptAny, o.MaxStreams = "sqlite", false, 4 })
	first := firstKey(t, a)
	reader := with(t, a, first, client.KeySpec{Name: "reader", Role: "read-only"})
	ctx, cancel := context.WithCancel(t.Context())
	followed, ended := make(chan struct{}, 1), make(chan error)
	go func() {
		ended <- reader.Events(ctx, client.EventQuery{Last: 1, Follow: true}, func(client.Event) error {
			followed <- struct{}{}
			return nil
		})
	}()
	<-followed
	none := func(client.Event) error { return nil }
	if err := reader.Events(t.Context(), client.EventQuery{Last: 1}, none); status(err) != 429 || !strings.Contains(err.Error(), "limit for one key") {
		t.Errorf("a second stream of the key: %v", err)
	}
	if err := first.Events(t.Context(), client.EventQuery{Last: 1}, none); err != nil {
		t.Errorf("an administrator: %v", err)
	}
	cancel()
	<-ended
}

// On a server for its own user there are no limits, whatever the options say.
func TestLimits_NoneForAnybody(t *testing.T) {
	t.Parallel()
	none := map[string]limit.Rate{}
	for name := range app.DefaultLimits() {
		none[name] = few(1)
	}
	a := start(t, func(o *app.Options) { o.Limits = none })
	c := &client.Client{Endpoint: a.URL()}
	for range 10 {
		check(t, list(t, c))
		must(c.Keys().List(t.Context()))(t)
		if status, _ := askToJoin(t, a, "no such token"); status != http.StatusUnauthorized {
			t.Errorf("a wrong join token: %d", status)
		}
	}
}

// BenchmarkLimits measures signed requests, alternating between a server with limits and
// one without, and reports the median of each, which other load affects least.
func BenchmarkLimits(b *testing.B) {
	off, on := map[string]limit.Rate{}, map[string]limit.Rate{"admin": {PerSecond: 1e9, Burst: 1e9}}
	for name := range app.DefaultLimits() {
		off[name] = limit.Off
	}
	sides := []func(){listing(b, off), listing(b, on)}
	took := make([][]time.Duration, len(sides))
	for b.Loop() {
		for i, send := range sides {
			begun := time.Now()
			send()
			took[i] = append(took[i], time.Since(begun))
		}
	}
	for i, unit := range []string{"ns-without", "ns-with"} {
		slices.Sort(took[i])
		b.ReportMetric(float64(took[i][len(took[i])/2]), unit)
	}
}

// listing starts a server with limits and returns a function that sends it a signed
// request, and fails if that is refused.
func listing(b *testing.B, limits map[string]limit.Rate) (send func()) {
	b.Helper()
	a := must(app.New(app.Options{Listen: "127.0.0.1:0", DataDir: b.TempDir(), Store: "memory", Limits: limits}))(b)
	check(b, a.Start(b.Context()))
	b.Cleanup(func() { a.Stop(context.Background()) })
	key := firstKey(b, a).Credentials
	const body = `{"Limit":1}`
	r := httptest.NewRequest("POST", a.URL(), strings.NewReader(body))
	r.Header.Set("X-Amz-Target", "GameLift.ListLocations")
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	sum := sha256.Sum256([]byte(body))
	check(b, v4.NewSigner().SignHTTP(b.Context(), key, r, hex.EncodeToString(sum[:]), "gamelift", "us-east-1", time.Now()))
	h := a.Handler()
	return func() {
		r.Body = io.NopCloser(strings.NewReader(body))
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusOK {
			b.Fatal(w.Code, w.Body)
		}
	}
}

// askToJoin sends a request to join with a token.
func askToJoin(t *testing.T, a *app.App, token string) (status int, joined protocol.JoinResponse) {
	t.Helper()
	body := must(json.Marshal(protocol.JoinRequest{Token: token, Facts: protocol.Facts{
		Name: "m", IPAddress: "192.0.2.1", OS: "linux", Arch: "amd64", CPUMillis: 1000, MemoryMiB: 1000, PortFrom: 20000, PortTo: 20010}}))(t)
	answer, text := send(t, direct, http.MethodPost, a.URL()+protocol.PathJoin, string(body), asJSON)
	if answer.StatusCode == http.StatusOK {
		check(t, json.Unmarshal([]byte(text), &joined))
	} else if advised := answer.Header.Get("Retry-After") != ""; advised != (answer.StatusCode == http.StatusTooManyRequests) {
		t.Errorf("status %d with Retry-After %q", answer.StatusCode, answer.Header.Get("Retry-After"))
	}
	return answer.StatusCode, joined
}

// askAsHost requests a build that does not exist with a host's credential.
func askAsHost(t *testing.T, a *app.App, credential string) (status int) {
	t.Helper()
	answer, _ := send(t, direct, http.MethodGet, a.URL()+protocol.PathBuilds+"0", "", map[string]string{"Authorization": "Bearer " + credential})
	return answer.StatusCode
}

// With a separate address, metrics are served there, and not on the main listener.
func TestMetricsListen(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) { o.MetricsListen = "127.0.0.1:0" })
	own := "http://" + a.MetricsAddr().String()
	if status, text := get(t, own+"/metrics"); status != 200 || !strings.Contains(text, "muster_connections ") {
		t.Errorf("there: %d %.80s", status, text)
	}
	if status, text := get(t, a.URL()+"/metrics"); status != 404 {
		t.Errorf("on the listen address: %d %.80s", status, text)
	}
	for _, path := range []string{"/", "/healthz", "/console/api/events"} {
		if status, _ := get(t, own+path); status != 404 {
			t.Errorf("%s on the address for metrics: %d", path, status)
		}
	}
	stop(t, a)
	if _, err := http.Get(own + "/metrics"); err == nil {
		t.Error("metrics are served after the stop")
	}
}
