package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model"

	"github.com/musterhq/muster/examples/arena/bot"
	"github.com/musterhq/muster/examples/arena/server"
	"github.com/musterhq/muster/examples/arena/wire"
	"github.com/musterhq/muster/sdk/gameserver"
	"github.com/musterhq/muster/sdk/gameserver/fakesdk"
)

// launch runs a process on an in-memory service; the returned function waits for its
// end.
func launch(t *testing.T, service *fakesdk.Fake) (address string, wait func() error) {
	t.Helper()
	conn, web, err := listen(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); web.Close() })
	p, err := newProcess(conn, server.Options{TicksASecond: 200, EmptyFor: 1, Web: web},
		gameserver.Options{SDK: service, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- p.run(t.Context()) }()
	at := net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: conn.LocalAddr().(*net.UDPAddr).Port}
	return at.String(), func() error { return <-done }
}

func wantCalls(t *testing.T, service *fakesdk.Fake, want ...string) {
	t.Helper()
	if got := service.Calls(); !slices.Equal(got, want) {
		t.Errorf("got calls %q, want %q", got, want)
	}
}

func TestProcess_RunsOneSession(t *testing.T) {
	t.Parallel()
	service := fakesdk.New()
	address, wait := launch(t, service)
	if !service.Healthy() {
		t.Error("an idle process must be healthy")
	}
	service.StartSession(fakesdk.Session("gsess-1", 2))
	<-service.Activated()
	service.Reserve("psess-1", "anna")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	healthy := false
	result, err := bot.Play(ctx, bot.Options{Address: address, PlayerSessionID: "psess-1", Watch: func(wire.Snapshot) {
		service.Update(fakesdk.Session("gsess-1", 2), model.BackfillFailed, "t")
		healthy = service.Healthy()
		cancel()
	}})
	if err != nil || result.Ending != bot.Left || !healthy {
		t.Errorf("got %+v, %v, healthy %v", result, err, healthy)
	}
	if err := wait(); err != nil {
		t.Error(err)
	}
	wantCalls(t, service, "Init", "Ready", "Activate", "Accept psess-1", "Remove psess-1", "Ending", "Destroy")
}

func TestProcess_MatchTimeIsAGameProperty(t *testing.T) {
	t.Parallel()
	service := fakesdk.New()
	address, wait := launch(t, service)
	g := fakesdk.Session("gsess-1", 2)
	g.GameProperties = map[string]string{"matchSeconds": "1"}
	service.StartSession(g)
	service.Reserve("psess-1", "anna")
	result, err := bot.Play(t.Context(), bot.Options{Address: address, PlayerSessionID: "psess-1"})
	if err != nil || result.Ending != "finished" {
		t.Errorf("got %+v, %v", result, err)
	}
	if err := wait(); err != nil {
		t.Error(err)
	}
}

func TestProcess_TellsPlayersWhenTerminated(t *testing.T) {
	t.Parallel()
	service := fakesdk.New()
	address, wait := launch(t, service)
	service.StartSession(fakesdk.Session("gsess-1", 2))
	service.Reserve("psess-1", "anna")
	asked := false
	result, err := bot.Play(t.Context(), bot.Options{Address: address, PlayerSessionID: "psess-1", Watch: func(wire.Snapshot) {
		if !asked {
			service.Terminate(time.Now().Add(time.Minute))
		}
		asked = true
	}})
	if err != nil || result.Ending != "terminating" {
		t.Errorf("got %+v, %v", result, err)
	}
	if err := wait(); err != nil {
		t.Error(err)
	}
}

func TestProcess_EndsWhenTerminatedIdle(t *testing.T) {
	t.Parallel()
	service := fakesdk.New()
	_, wait := launch(t, service)
	service.Terminate(time.Now().Add(time.Minute))
	if err := wait(); err != nil {
		t.Error(err)
	}
	wantCalls(t, service, "Init", "Ready", "Ending", "Destroy")
}

func TestProcess_EndsWhenActivationFails(t *testing.T) {
	t.Parallel()
	service := fakesdk.New()
	refused := errors.New("not yours")
	service.Fail("Activate", refused)
	_, wait := launch(t, service)
	service.StartSession(fakesdk.Session("gsess-1", 2))
	if err := wait(); !errors.Is(err, refused) {
		t.Errorf("got %v, want %v", err, refused)
	}
	wantCalls(t, service, "Init", "Ready", "Activate", "Ending", "Destroy")
}
