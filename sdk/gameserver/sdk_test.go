package gameserver_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/common"
	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model"
	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/server"

	"github.com/musterhq/muster/sdk/gameserver"
	"github.com/musterhq/muster/sdk/gameserver/fakesdk"
	"github.com/musterhq/muster/sdk/session"
)

// After an official SDK fails to connect, it is as if it had never been used: it
// writes no files and is not initialized a second time. The test cannot run in
// parallel: the SDK is global to the process and reads its settings from the
// environment.
func TestOfficial_FailedStart(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(common.HealthcheckMaxJitter, "0s")
	run := func() error {
		s, err := gameserver.New(gameserver.Options{Port: 7777, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}, onlyCreate{})
		if err != nil {
			t.Fatal(err)
		}
		return s.Run(t.Context()) // no address is configured
	}
	if err := run(); err == nil || errors.Is(err, gameserver.ErrUsed) {
		t.Errorf("a start without an endpoint: got %v", err)
	}
	if err := run(); !errors.Is(err, gameserver.ErrUsed) {
		t.Errorf("a second start: got %v", err)
	}
	err := server.InitSDK(server.ServerParameters{})
	if known, ok := errors.AsType[*common.GameLiftError](err); !ok || known.ErrorType == common.AlreadyInitialized {
		t.Errorf("the SDK was left half made: %v", err)
	}
	server.Destroy()
	if jitter := os.Getenv(common.HealthcheckMaxJitter); jitter != "1ms" {
		t.Errorf("the SDK spreads health checks by %s, which has it panic", jitter)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) != 0 {
		t.Errorf("left in the working directory: %v, %v", left, err)
	}
}

// onlyCreate is a game with only the required method.
type onlyCreate struct{}

func (onlyCreate) OnCreateSession(context.Context, session.Info) error { return nil }

// A handler with only the required method is healthy, takes updates and ends when the
// service requests it: all callbacks of the SDK are set, without which it exits.
func TestServer_HandlerOfOneFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sdk := fakesdk.New()
		s, err := gameserver.New(gameserver.Options{Port: 7777, SDK: sdk, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}, onlyCreate{})
		if err != nil {
			t.Fatal(err)
		}
		ran := make(chan error, 1)
		go func() { ran <- s.Run(t.Context()) }()
		sdk.StartSession(fakesdk.Session("gsess-1", 2))
		sdk.Update(fakesdk.Session("gsess-1", 2), model.BackfillCancelled, "ticket-1")
		synctest.Wait()
		if !sdk.Healthy() || s.State() != gameserver.Active {
			t.Errorf("the state is %s", s.State())
		}
		if err := s.StopBackfill(t.Context(), ""); !errors.Is(err, gameserver.ErrNoTicket) {
			t.Errorf("no backfill is stopped: got %v", err)
		}
		if _, err := s.StartBackfill(t.Context(), gameserver.BackfillRequest{}); !errors.Is(err, gameserver.ErrNoMatchData) {
			t.Errorf("a backfill without a match: got %v", err)
		}
		sdk.Terminate(time.Now().Add(time.Minute))
		if err := <-ran; err != nil || s.EndReason() != gameserver.EndTerminated {
			t.Errorf("Run gave %v, ended by %s", err, s.EndReason())
		}
	})
}

// The SDK calls from many goroutines; handlers run one at a time.
func TestServer_TellsOneThingAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loaded := make(chan struct{})
		w := run(t, gameserver.Options{}, func(w *world) {
			w.game.create = func(context.Context) error { <-loaded; return nil }
		})
		w.start()
		g := fakesdk.Session("gsess-1", 4)
		g.MatchmakerData = match("m-2", "")
		w.sdk.Update(g, model.MatchmakingDataUpdated, "ticket-1")
		synctest.Wait()
		w.game.mu.Lock()
		if told := len(w.game.told); told != 1 {
			t.Errorf("while the level loads the game was told %q", w.game.told)
		}
		w.game.mu.Unlock()
		close(loaded)
		synctest.Wait()
		if data, _ := w.Matchmaker(); data.MatchID != "m-2" {
			t.Errorf("the match is %q", data.MatchID)
		}
		w.stop()
		<-w.ran
	})
}
