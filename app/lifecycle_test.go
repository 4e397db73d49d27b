package app_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqlite"
	"github.com/musterhq/muster/internal/wait"
)

func TestRun_ReadyLineAndStop(t *testing.T) {
	t.Parallel()
	base, out, end := run(t, options(t, nil))
	if got := out.String(); got != "ready "+base+"\n" || !strings.HasPrefix(base, "http://127.0.0.1:") {
		t.Errorf("printed %q", got)
	}
	if status, body := get(t, base+"/readyz"); status != 200 || body != `{"status":"ready"}` {
		t.Errorf("/readyz is %d %s", status, body)
	}
	end()
	if _, err := http.Get(base + "/readyz"); err == nil {
		t.Error("still answers after the stop")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	none := new(screen)
	if err := app.Run(ctx, options(t, func(o *app.Options) { o.Out = none })); err != nil || none.String() != "" {
		t.Errorf("told to stop before it is ready, it gives %v and prints %q", err, none)
	}
}

func TestStart_Paths(t *testing.T) {
	t.Parallel()
	a := start(t, nil)
	if err := a.Start(t.Context()); err == nil {
		t.Error("a second start gives no error")
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200, "/": 404, "/console/x": 200, "/console/api/x": 404, "/nothing": 404} {
		if status, body := get(t, a.URL()+path); status != want || want == 404 && !strings.Contains(body, `"message":`) {
			t.Errorf("%s: %d %s, want %d", path, status, body, want)
		}
	}
	call(t, a, "ListFleets", map[string]any{})
	if _, text := get(t, a.URL()+"/metrics"); !regexp.MustCompile(`(?m)^muster_api_requests_total\{.*operation="ListFleets".*\} 1$`).MatchString(text) {
		t.Error("metrics do not count the call")
	}
}

// An app starts and stops once, whoever asks for it at the same time.
func TestStartStop_Races(t *testing.T) {
	t.Parallel()
	for range 10 {
		a := must(app.New(options(t, nil)))(t)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { _ = a.Start(t.Context()) })
			all.Go(func() { stop(t, a) })
		}
		all.Wait()
		stop(t, a)
		<-a.Done()
		if err := a.Start(t.Context()); err == nil {
			t.Error("a start after the stop gives no error")
		}
		if url := a.URL(); url != "" {
			if _, err := http.Get(url + "/healthz"); err == nil {
				t.Fatal("answers after the stop")
			}
		}
	}
}

// An address or a data directory that another server has is named, and what the failed start had
// taken itself is free again.
func TestStart_Taken(t *testing.T) {
	t.Parallel()
	first := start(t, func(o *app.Options) { o.Store, o.DataDir = "sqlite", filepath.Join(o.DataDir, "data") })
	taken := first.Addr().String()
	for want, change := range map[string]func(*app.Options){
		"listen tcp":     func(o *app.Options) { o.Listen = taken },
		"metrics-listen": func(o *app.Options) { o.MetricsListen = taken },
		"process":        func(o *app.Options) { o.DataDir = first.DataDir() },
	} {
		o := options(t, func(o *app.Options) { o.Store = "sqlite" })
		free := o
		change(&o)
		if err := try(t, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("start gives %v, want %q", err, want)
		}
		begin(t, free)
	}
	call(t, first, "CreateLocation", map[string]any{"LocationName": "custom-still-here"})
}

// The state, and what the console recorded, is there after a restart.
func TestRestart_KeepsState(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) { o.Store = "sqlite" })
	before := begin(t, o)
	populate(t, before)
	fails(t, before)
	begun := canceled(t, before)["15m"].Series.Begun
	stop(t, before)
	after := begin(t, o)
	if before.Digest() != after.Digest() {
		t.Error("the state read again is not the one that was stopped")
	}
	out := call(t, after, "DescribeFleetAttributes", map[string]any{})
	if list := out["FleetAttributes"].([]any); len(list) != 2 || list[0].(map[string]any)["Name"] != "kept" {
		t.Errorf("fleets are %v", list)
	}
	wait.Until(t, "history is restored", func() bool { return canceled(t, after)["1h"].Counts["placement CANCELLED"] == 1 })
	for name, v := range canceled(t, after) {
		if v.Counts["placement CANCELLED"] != 1 || v.Series.Begun.After(begun) && !begun.IsZero() {
			t.Errorf("%s: %+v, recorded from %v", name, v.Counts, begun)
		}
	}
}

// populate creates one of most things.
func populate(t *testing.T, a *app.App) {
	t.Helper()
	call(t, a, "CreateLocation", map[string]any{"LocationName": "custom-a"})
	out := call(t, a, "CreateFleet", map[string]any{
		"Name": "kept", "ComputeType": "ANYWHERE", "Locations": []any{map[string]any{"Location": "custom-a"}},
		"Tags": []any{map[string]any{"Key": "k", "Value": "v"}},
	})
	id := out["FleetAttributes"].(map[string]any)["FleetId"]
	call(t, a, "CreateAlias", map[string]any{"Name": "kept", "RoutingStrategy": map[string]any{"Type": "SIMPLE", "FleetId": id}})
	call(t, a, "RegisterCompute", map[string]any{"FleetId": id, "ComputeName": "host", "Location": "custom-a", "IpAddress": "127.0.0.1"})
}

// Game servers are told the public URL; TestCompute of test/aws has the address of the listener.
func TestRegisterCompute_Endpoint(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) { o.PublicURL = "https://games.example" })
	fleet, _ := anywhere(t, at(a), "a")
	out := call(t, a, "RegisterCompute", map[string]any{"FleetId": fleet, "ComputeName": "b", "Location": "custom-a", "IpAddress": "127.0.0.1"})
	got, _ := out["Compute"].(map[string]any)["GameLiftServiceSdkEndpoint"].(string)
	if !strings.HasPrefix(got, "wss://games.example/gameserver/v5") || len(got) > 128 {
		t.Errorf("GameLiftServiceSdkEndpoint is %q", got)
	}
}

// TestStop_EndsStreams checks that a follower of events does not delay a stop.
func TestStop_EndsStreams(t *testing.T) {
	t.Parallel()
	a := start(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	seen, lost := make(chan struct{}), make(chan struct{})
	var first, once sync.Once
	following := make(chan error, 1)
	go func() {
		following <- at(a).Events(ctx, client.EventQuery{Follow: true, Last: 1, Reconnected: func(error) {
			once.Do(func() { close(lost) })
		}}, func(client.Event) error { first.Do(func() { close(seen) }); return nil })
	}()
	call(t, a, "CreateLocation", map[string]any{"LocationName": "custom-a"})
	<-seen
	stop(t, a)
	<-lost
	cancel()
	if err := <-following; err != nil {
		t.Errorf("following ends with %v", err)
	}
}

// A body that never arrives does not keep a connection open, on any path, whether or not
// the request is valid.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	paths := []string{
		"GET /healthz", "GET /readyz", "GET /metrics", "GET /nothing", "POST /nothing", "PUT /bucket/key", "DELETE /bucket/key",
		"GET /console/api/events", "POST /console/x", "POST /notify/replay", "GET /notify/confirm", "POST /admin/v1/keys",
		"POST /agent/v1/join", "POST /agent/v1/tokens", "GET /agent/v1/host", "GET /agent/v1/hosts", "PUT /agent/v1/logs/a/b",
		"GET /player/v1/players/me", "POST /player/v1/auth/guest", "POST /player/v1/auth/guest/login", "GET /player/v1/ws",
		"PUT /player/v1/server/players/p/ban", "GET /gameserver/v5?pID=a&ComputeId=b&FleetId=c", "POST /",
	}
	for _, anyone := range []bool{true, false} {
		a := start(t, func(o *app.Options) { o.BodyTimeout, o.AcceptAny = 20*time.Millisecond, anyone })
		var all sync.WaitGroup
		for _, path := range paths {
			for _, body := range []string{"Content-Length: 100\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n1\r\n{"} {
				for _, more := range []string{"", "X-Amz-Target: GameLift.ListFleets\r\n", "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"} {
					all.Go(func() {
						conn, err := net.Dial("tcp", a.Addr().String())
						if err != nil {
							t.Error(err)
							return
						}
						defer conn.Close()
						conn.SetDeadline(time.Now().Add(time.Minute)) // far more than needed: a failure instead of a hang
						fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s%s", path, more, body)
						if _, err := io.ReadAll(conn); err != nil { // until the end
							t.Errorf("%s, %q%q: %v", path, more, body, err)
						}
					})
				}
			}
		}
		all.Wait()
	}
}

// TestLost_StopsByItself checks an app whose cell another node takes.
func TestLost_StopsByItself(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) { o.Store = "sqlite" })
	thief := store.New(store.Options{Driver: sqlite.File(a.DataDir() + "/muster.db"), Owner: "thief"})
	check(t, thief.Open(t.Context()))
	defer thief.Close()
	c := &client.Client{Endpoint: a.URL()}
	if err := c.Call(t.Context(), "CreateLocation", map[string]any{"LocationName": "custom-a"}, nil); err == nil {
		t.Error("a write was acknowledged after the cell was taken")
	}
	<-a.Done()
	if a.Err() == nil {
		t.Error("done without saying why")
	}
	if status, _ := get(t, a.URL()+"/readyz"); status != 503 {
		t.Errorf("/readyz is %d after the cell was taken", status)
	}
}
