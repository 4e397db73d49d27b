package serversdk_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/internal/wait"
	door "github.com/musterhq/muster/serversdk"
	gaming "github.com/musterhq/muster/session"
)

// TestRefresh: told to connect to another endpoint, the SDK does so with the new token,
// closes its old connection, and its game session continues. No command of the binary
// causes this yet, so the door runs in process.
func TestRefresh(t *testing.T) {
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	master, err := auth.NewMaster(make([]byte, auth.MasterKeySize))
	ok(err)
	st := store.New(store.Options{Driver: store.NewMemory()})
	events, tags := event.New(st, event.Options{}), tag.New(st)
	fleets := fleet.New(st, fleet.Deps{Events: events, Tags: tags}, fleet.Options{Home: arn.Home{Region: "us-east-1", Account: "000000000000"}})
	computes := compute.New(st, compute.Deps{Events: events, Fleets: fleets, Tags: tags}, compute.Options{Tokens: master})
	sessions := gaming.New(st, gaming.Deps{Events: events, Fleets: fleets, Computes: computes}, gaming.Options{})
	ok(st.Open(ctx))
	defer st.Close()
	_, err = fleets.Locations.Create(ctx, location, nil)
	ok(err)
	f, err := fleets.Create.Do(ctx, fleet.CreateInput{ComputeType: fleet.Anywhere, Locations: []string{location}})
	ok(err)
	at, err := computes.Register(ctx, compute.RegisterInput{FleetID: f.ID, Name: computeName, Location: location, IPAddress: "127.0.0.1"})
	ok(err)
	token, _ := computes.IssueToken(at, time.Now())
	newer, _ := computes.IssueToken(at, time.Now().Add(time.Hour))

	server := door.New(door.Options{Store: st, Computes: computes, Sessions: sessions})
	defer server.Stop(context.Background())
	came := make(chan *http.Request, 10)
	listen := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		came <- r
		server.ServeHTTP(w, r)
	}))
	defer listen.Close()
	endpoint := "ws" + strings.TrimPrefix(listen.URL, "http")

	p := startProbe(t, map[string]string{
		"GAMELIFT_SDK_WEBSOCKET_URL": endpoint + "/old", "GAMELIFT_SDK_AUTH_TOKEN": token,
		"GAMELIFT_SDK_PROCESS_ID": "process-1", "GAMELIFT_SDK_HOST_ID": computeName, "GAMELIFT_SDK_FLEET_ID": f.ID,
		"DISCONNECT_WEBSOCKET_TIMEOUT": "200ms", // default 5 s
		"HEALTHCHECK_INTERVAL":         "300ms", "HEALTHCHECK_MAX_JITTER": "1ms", "HEALTHCHECK_TIMEOUT": "200ms",
	})
	p.do(nil, "init")
	<-came
	p.do(nil, "ready", "7777")
	p.event("health", nil)
	asked, err := server.Refresh(endpoint+"/new", func(compute.Ref) (string, error) { return newer, nil })
	if err != nil || asked != 1 {
		t.Fatalf("asked %d processes, %v", asked, err)
	}
	r := <-came
	if r.URL.Path != "/new" || r.URL.Query().Get("Authorization") != newer {
		t.Errorf("the SDK came to %s", r.URL)
	}
	wait.Until(t, "the SDK has closed its old connection", func() bool { return server.Connections() == 1 })
	g, err := sessions.Create(ctx, gaming.CreateInput{FleetID: f.ID, Location: location, MaxPlayers: 1})
	ok(err)
	var told gameSession
	p.event("start", &told)
	if told.GameSessionId != g.ID {
		t.Errorf("told of %s, want %s", told.GameSessionId, g.ID)
	}
	p.do(nil, "activate")
	p.do(nil, "end")
}
