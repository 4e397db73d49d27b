package gameserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/model"

	"github.com/musterhq/muster/sdk/gameserver"
	"github.com/musterhq/muster/sdk/gameserver/fakesdk"
	"github.com/musterhq/muster/sdk/session"
)

// game records its calls. Its functions may be set.
type game struct {
	mu      sync.Mutex
	told    []string
	create  func(ctx context.Context) error
	destroy func(ctx context.Context) error
	health  func(ctx context.Context) bool
	server  *gameserver.Server
}

func (g *game) note(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.told = append(g.told, what)
}

func (g *game) OnCreateSession(ctx context.Context, s session.Info) error {
	g.note("create " + s.ID)
	if g.create != nil {
		return g.create(ctx)
	}
	return nil
}

func (g *game) OnSessionCreated(context.Context, session.Info) { g.note("created") }

func (g *game) OnHealthCheck(ctx context.Context) bool { return g.health == nil || g.health(ctx) }

func (g *game) OnUpdateSession(_ context.Context, u gameserver.Update) {
	data, _ := g.server.Matchmaker()
	g.note("update " + data.MatchID)
}

func (g *game) OnSessionUpdated(_ context.Context, u gameserver.Update) {
	data, _ := g.server.Matchmaker()
	g.note("updated " + data.MatchID)
}

func (g *game) OnDestroySession(ctx context.Context, r gameserver.EndReason) error {
	g.note("destroy " + string(r))
	if g.destroy != nil {
		return g.destroy(ctx)
	}
	return nil
}

func (g *game) OnSessionDestroyed(context.Context) { g.note("destroyed") }

// world is a running server in a synctest bubble.
type world struct {
	t    *testing.T
	sdk  *fakesdk.Fake
	game *game
	*gameserver.Server
	stop context.CancelFunc
	ran  chan error
}

func run(t *testing.T, o gameserver.Options, prepare func(*world)) *world {
	t.Helper()
	w := &world{t: t, sdk: fakesdk.New(), game: &game{}, ran: make(chan error, 1)}
	o.Port, o.SDK, o.Logger = 7777, w.sdk, slog.New(slog.NewTextHandler(io.Discard, nil))
	s, err := gameserver.New(o, w.game)
	if err != nil {
		t.Fatal(err)
	}
	w.Server, w.game.server = s, s
	if prepare != nil {
		prepare(w)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.stop = cancel
	go func() { w.ran <- s.Run(ctx) }()
	synctest.Wait()
	return w
}

// start assigns the process a session with 4 slots and a match of anna and ben.
func (w *world) start() {
	g := fakesdk.Session("gsess-1", 4)
	g.MatchmakerData = match("m-1", "")
	w.sdk.StartSession(g)
	synctest.Wait()
}

func match(id, auto string) string {
	return fmt.Sprintf(`{"matchId":%q,"matchmakingConfigurationArn":"arn:aws:gamelift:us-west-2:123456789012:matchmakingconfiguration/mm",`+
		`"teams":[{"name":"red","players":[{"playerId":"anna","attributes":{"skill":{"attributeType":"DOUBLE","valueAttribute":3}}}]},`+
		`{"name":"blue","players":[{"playerId":"ben"}]}],"autoBackfillTicketId":%q}`, id, auto)
}

func (w *world) join(name string) error {
	w.sdk.Reserve("psess-"+name, name)
	return w.ValidatePlayer(w.t.Context(), gameserver.ConnectionID(name), "psess-"+name)
}

// ended waits for the end and compares the calls made to the SDK and the game.
func (w *world) ended(want error, calls, told string) {
	w.t.Helper()
	if err := <-w.ran; !errors.Is(err, want) || want == nil && err != nil {
		w.t.Errorf("Run gave %v, want %v", err, want)
	}
	if got := strings.Join(w.sdk.Calls(), ", "); got != calls {
		w.t.Errorf("got calls %s\nwant      %s", got, calls)
	}
	if got := strings.Join(w.game.told, ", "); got != told {
		w.t.Errorf("the game was told %s\nwant              %s", got, told)
	}
	if w.State() != gameserver.Ended {
		w.t.Errorf("the state is %s", w.State())
	}
}

func TestServer_Life(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := run(t, gameserver.Options{EndWhenEmpty: true, EmptyGrace: time.Second}, nil)
		if w.State() != gameserver.Ready || !w.sdk.Healthy() {
			t.Errorf("the state is %s", w.State())
		}
		w.start()
		w.sdk.StartSession(fakesdk.Session("gsess-2", 2)) // ignored
		if info, ok := w.Session(); !ok || info.ID != "gsess-1" || w.State() != gameserver.Active {
			t.Errorf("got %+v, %s", info, w.State())
		}
		if err := errors.Join(w.join("anna"), w.join("ben"), w.PlayerLeft(t.Context(), "anna"), w.PlayerLeft(t.Context(), "ben")); err != nil {
			t.Error(err)
		}
		pass(900 * time.Millisecond)
		if err := w.join("cleo"); err != nil || len(w.Connected()) != 1 {
			t.Errorf("just in time: %v", err)
		}
		pass(time.Minute)
		w.PlayerLeft(t.Context(), "cleo")
		w.ended(nil, "Init, Ready, Activate, Accept psess-anna, Accept psess-ben, Remove psess-anna, Remove psess-ben, "+
			"Accept psess-cleo, Remove psess-cleo, Ending, Destroy", "create gsess-1, created, destroy empty, destroyed")
	})
}

func TestServer_EndsEarly(t *testing.T) {
	broken := errors.New("broken")
	cases := []struct {
		name    string
		prepare func(*world)
		act     func(*world)
		want    error
		calls   string
		told    string
	}{
		{"cannot connect", func(w *world) { w.sdk.Fail("Init", broken) }, nil, broken, "Init", ""},
		{"connecting takes too long", func(w *world) { w.t.Cleanup(func() {}); r := w.sdk.Block("Init"); time.AfterFunc(2*time.Minute, r) },
			func(w *world) { pass(3 * time.Minute) }, context.DeadlineExceeded, "Init, Destroy", ""},
		{"not taken", func(w *world) { w.sdk.Fail("Ready", broken) }, nil, broken, "Init, Ready, Ending, Destroy", ""},
		{"level missing", func(w *world) { w.game.create = func(context.Context) error { return broken } }, (*world).start, broken,
			"Init, Ready, Ending, Destroy", "create gsess-1, destroy create_failed, destroyed"},
		{"activation refused", func(w *world) { w.sdk.Fail("Activate", broken) }, (*world).start, broken,
			"Init, Ready, Activate, Ending, Destroy", "create gsess-1, destroy activate_failed, destroyed"},
		{"idle and cancelled", nil, func(w *world) { w.stop() }, nil, "Init, Ready, Ending, Destroy", ""},
		{"the handler fails to end", func(w *world) { w.game.destroy = func(context.Context) error { return broken } },
			func(w *world) { w.start(); w.stop() }, nil, "Init, Ready, Activate, Ending, Destroy", "create gsess-1, created, destroy requested, destroyed"},
		{"the service does not hear of the end", func(w *world) { w.sdk.Fail("Ending", broken) }, func(w *world) { w.start(); w.stop() }, nil,
			"Init, Ready, Activate, Ending, Destroy", "create gsess-1, created, destroy requested"},
		{"ended while it creates", func(w *world) {
			w.game.create = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		}, func(w *world) { w.start(); w.End(w.t.Context(), gameserver.EndRequested) }, nil,
			"Init, Ready, Ending, Destroy", "create gsess-1, destroy requested, destroyed"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := run(t, gameserver.Options{}, c.prepare)
				if c.act != nil {
					c.act(w)
				}
				w.ended(c.want, c.calls, c.told)
			})
		})
	}
}

func TestServer_TerminatedEndsBeforeItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var took time.Duration
		w := run(t, gameserver.Options{}, func(w *world) {
			w.game.destroy = func(ctx context.Context) error {
				begin := time.Now()
				<-ctx.Done()
				took = time.Since(begin)
				return ctx.Err()
			}
		})
		w.start()
		if _, ok := w.TerminationTime(); ok {
			t.Error("a time is known before the service told it")
		}
		w.sdk.Terminate(time.Now().Add(20 * time.Second))
		w.ended(nil, "Init, Ready, Activate, Ending, Destroy", "create gsess-1, created, destroy terminated, destroyed")
		if took != 15*time.Second || w.EndReason() != gameserver.EndTerminated {
			t.Errorf("the game had %v, want the 20 s less 5; reason %s", took, w.EndReason())
		}
	})
}

func TestServer_EndIsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := run(t, gameserver.Options{}, nil)
		w.start()
		var callers sync.WaitGroup
		for range 5 {
			callers.Go(func() {
				if err := w.End(t.Context(), gameserver.EndRequested); err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		if err := w.ValidatePlayer(t.Context(), "late", "psess-late"); !errors.Is(err, gameserver.ErrEnding) {
			t.Errorf("late player: got %v", err)
		}
		w.ended(nil, "Init, Ready, Activate, Ending, Destroy", "create gsess-1, created, destroy requested, destroyed")
		if err := w.Run(t.Context()); !errors.Is(err, gameserver.ErrUsed) {
			t.Errorf("a second run: got %v", err)
		}
	})
}

func TestServer_SlowHealthCheckIsUnhealthy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := run(t, gameserver.Options{}, func(w *world) {
			w.game.health = func(ctx context.Context) bool { <-ctx.Done(); return true }
		})
		begin := time.Now()
		if w.sdk.Healthy() || time.Since(begin) != 10*time.Second {
			t.Errorf("healthy after %v", time.Since(begin))
		}
		w.stop()
		<-w.ran
		if w.sdk.Healthy() {
			t.Error("healthy after the end")
		}
	})
}

func TestServer_ValidatePlayer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := run(t, gameserver.Options{}, nil)
		check := func(what string, c gameserver.ConnectionID, id string, want error) {
			t.Helper()
			if err := w.ValidatePlayer(t.Context(), c, id); !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", what, err, want)
			}
		}
		check("no session yet", "c1", "psess-1", gameserver.ErrNoSession)
		w.start()
		w.sdk.Reserve("psess-1", "anna")
		check("no id", "c1", "", gameserver.ErrInvalid)
		check("forged", "c1", "psess-0", gameserver.ErrRefused)
		check("right", "c1", "psess-1", nil)
		check("same connection", "c1", "psess-2", gameserver.ErrConnectionInUse)
		check("same session", "c2", "psess-1", gameserver.ErrConnectionInUse)
		if err := w.PlayerLeft(t.Context(), "c9"); !errors.Is(err, gameserver.ErrUnknownConnection) {
			t.Errorf("got %v", err)
		}
		w.PlayerLeft(t.Context(), "c1")
		check("used", "c1", "psess-1", gameserver.ErrRefused)
		w.sdk.Fail("Accept", errors.New("timeout"))
		if err := w.ValidatePlayer(t.Context(), "c3", "psess-3"); err == nil || errors.Is(err, gameserver.ErrRefused) || len(w.Connected()) != 0 {
			t.Errorf("trouble: got %v", err)
		}
		w.stop()
		<-w.ran
	})
}

// A caller that gives up does not keep a slot taken.
func TestServer_LateAcceptIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := run(t, gameserver.Options{}, nil)
		w.start()
		release := w.sdk.Block("Accept")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w.sdk.Reserve("psess-1", "anna")
		if err := w.ValidatePlayer(ctx, "c1", "psess-1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		release()
		synctest.Wait()
		if !slices.Contains(w.sdk.Calls(), "Remove psess-1") || len(w.Connected()) != 0 {
			t.Errorf("got %q", w.sdk.Calls())
		}
		w.stop()
		<-w.ran
	})
}

func TestServer_UpdateAndBackfill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := run(t, gameserver.Options{Backfill: gameserver.BackfillPolicy{Enabled: true, OnLeave: true, OnTimeout: true}}, nil)
		w.start()
		pass(10 * time.Second) // the policy's delay: nobody is connected to backfill around
		if _, err := w.StartBackfill(t.Context(), gameserver.BackfillRequest{}); !errors.Is(err, gameserver.ErrNoPlayers) {
			t.Errorf("got %v", err)
		}
		for _, name := range []string{"anna", "ben", "stranger"} {
			if err := w.join(name); err != nil {
				t.Fatal(err)
			}
		}
		ticket, err := w.StartBackfill(t.Context(), gameserver.BackfillRequest{})
		asked := w.sdk.Backfills()
		if err != nil || ticket != "ticket-1" || w.BackfillTicket() != "ticket-1" || len(asked[0].Players) != 2 ||
			asked[0].Players[0].Team != "red" || asked[0].Players[0].PlayerAttributes["skill"].N != 3 {
			t.Errorf("got %q, %v, %+v", ticket, err, asked)
		}
		w.sdk.Update(fakesdk.Session("gsess-1", 4), model.BackfillTimedOut, "ticket-1")
		synctest.Wait()
		if got := w.sdk.Backfills(); len(got) != 2 || got[1].TicketID != "ticket-1" {
			t.Errorf("a ticket that timed out was not started again: %+v", got)
		}
		g := fakesdk.Session("gsess-1", 4)
		g.MatchmakerData = match("m-2", "")
		w.sdk.Update(g, model.MatchmakingDataUpdated, "ticket-1")
		synctest.Wait()
		if w.BackfillTicket() != "" {
			t.Errorf("a backfill that found its players is still %q", w.BackfillTicket())
		}
		w.PlayerLeft(t.Context(), "ben")
		synctest.Wait()
		if got := w.BackfillTicket(); got != "ticket-2" {
			t.Errorf("after a player left the latest ticket is %q", got)
		}
		g.MatchmakerData = match("m-3", "auto-1")
		w.sdk.Update(g, model.MatchmakingDataUpdated, "ticket-2")
		synctest.Wait()
		if _, err := w.StartBackfill(t.Context(), gameserver.BackfillRequest{}); !errors.Is(err, gameserver.ErrAutoBackfill) || w.BackfillTicket() != "auto-1" {
			t.Errorf("got %v, ticket %q", err, w.BackfillTicket())
		}
		ticket, err = w.StartBackfill(t.Context(), gameserver.BackfillRequest{AllowWithAuto: true})
		if err != nil {
			t.Error(err)
		}
		if err := w.SetAcceptingPlayers(t.Context(), false); err != nil {
			t.Error(err)
		}
		w.stop()
		<-w.ran
		calls := w.sdk.Calls()
		if !slices.Contains(calls, "StopBackfill "+ticket) || !slices.Contains(calls, "SetPolicy DENY_ALL") {
			t.Errorf("got %q, want our backfill stopped at the end", calls)
		}
		want := []string{"create gsess-1", "created", "update m-1", "updated m-1", "update m-1", "updated m-2", "update m-2", "updated m-3"}
		if !slices.Equal(w.game.told[:8], want) {
			t.Errorf("the game was told %q", w.game.told)
		}
	})
}

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	for _, port := range []int{0, -1, 60001} {
		if _, err := gameserver.New(gameserver.Options{Port: port}, &game{}); !errors.Is(err, gameserver.ErrInvalid) {
			t.Errorf("port %d: got %v", port, err)
		}
	}
	if _, err := gameserver.New(gameserver.Options{Port: 1}); !errors.Is(err, gameserver.ErrInvalid) {
		t.Errorf("no handler: got %v", err)
	}
}

// pass lets d of a bubble's time pass.
func pass(d time.Duration) { <-time.After(d) }
