package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model"

	"github.com/musterhq/muster/examples/arena/bot"
	"github.com/musterhq/muster/examples/arena/server"
	"github.com/musterhq/muster/examples/arena/wire"
)

// fakeService notes the calls and admits everybody.
type fakeService struct {
	mu       sync.Mutex
	calls    []string
	ready    chan callbacks
	activate error
}

func newFakeService() *fakeService { return &fakeService{ready: make(chan callbacks, 1)} }

func (f *fakeService) note(call string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, call)
}

func (f *fakeService) Ready(port int, logs []string, on callbacks) error {
	f.note("ready")
	f.ready <- on
	return nil
}

func (f *fakeService) Activate() error        { f.note("activate"); return f.activate }
func (f *fakeService) Accept(id string) error { f.note("accept " + id); return nil }
func (f *fakeService) Remove(id string) error { f.note("remove " + id); return nil }
func (f *fakeService) Ending() error          { f.note("ending"); return nil }

// launch runs a process; the returned function waits for its end.
func launch(t *testing.T, service *fakeService) (address string, wait func() error) {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	p := &process{service: service, conn: conn, log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		opts: server.Options{TicksASecond: 200, EmptyFor: 1}}
	done := make(chan error, 1)
	go func() { done <- p.run(t.Context()) }()
	return conn.LocalAddr().String(), func() error { return <-done }
}

func (f *fakeService) wantCalls(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(f.calls, want) {
		t.Errorf("got calls %q, want %q", f.calls, want)
	}
}

func TestProcess_RunsOneSession(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	address, wait := launch(t, service)
	on := <-service.ready
	if !on.healthy() {
		t.Error("an idle process must be healthy")
	}
	on.start(model.GameSession{GameSessionID: "gsess-1", MaximumPlayerSessionCount: 2})
	on.start(model.GameSession{GameSessionID: "gsess-2"})
	ctx, cancel := context.WithCancel(t.Context())
	healthy := false
	result, err := bot.Play(ctx, bot.Options{Address: address, PlayerSessionID: "psess-1", Watch: func(wire.Snapshot) {
		on.update(model.UpdateGameSession{})
		healthy = on.healthy()
		cancel()
	}})
	if err != nil || result.Ending != bot.Left || !healthy {
		t.Errorf("got %+v, %v, healthy %v", result, err, healthy)
	}
	if err := wait(); err != nil {
		t.Error(err)
	}
	service.wantCalls(t, "ready", "activate", "accept psess-1", "remove psess-1", "ending")
}

func TestProcess_MatchTimeIsAGameProperty(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	address, wait := launch(t, service)
	on := <-service.ready
	on.start(model.GameSession{GameProperties: map[string]string{"matchSeconds": "1"}})
	result, err := bot.Play(t.Context(), bot.Options{Address: address, PlayerSessionID: "psess-1"})
	if err != nil || result.Ending != "finished" {
		t.Errorf("got %+v, %v", result, err)
	}
	if err := wait(); err != nil {
		t.Error(err)
	}
}

func TestProcess_EndsWhenTerminatedIdle(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	_, wait := launch(t, service)
	(<-service.ready).terminate()
	if err := wait(); err != nil {
		t.Error(err)
	}
	service.wantCalls(t, "ready", "ending")
}

func TestProcess_EndsWhenActivationFails(t *testing.T) {
	t.Parallel()
	service := newFakeService()
	service.activate = errors.New("not yours")
	_, wait := launch(t, service)
	(<-service.ready).start(model.GameSession{})
	if err := wait(); !errors.Is(err, service.activate) {
		t.Errorf("got %v, want %v", err, service.activate)
	}
	service.wantCalls(t, "ready", "activate", "ending")
}
