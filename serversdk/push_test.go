package serversdk_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/serversdk"
	"github.com/musterhq/muster/session"
)

// A game session that a process was taken for just as its socket broke is sent on the
// next connection, once.
func TestPush_HeldUntilReconnect(t *testing.T) {
	driver := openGate()
	in(t, config{driver: driver}, func(t *testing.T, h *house) {
		g := h.ready("p")
		driver.shut()
		created := make(chan error, 1)
		go func() {
			_, err := h.Sessions.Create(h.Ctx, session.CreateInput{FleetID: h.fleet.ID, Location: location, MaxPlayers: 1})
			created <- err
		}()
		synctest.Wait() // the process is taken, but that is not durable yet
		g.raw.Close()
		<-g.closed
		synctest.Wait()
		driver.open()
		must(t, <-created)
		synctest.Wait()
		back := h.connect("p")
		back.push("CreateGameSession")
		back.quiet()
		back.lose()
		h.connect("p").quiet()
	})
}

// A start that was tried is never sent again: it may have arrived.
func TestPush_StartIsNeverRepeated(t *testing.T) {
	in(t, config{server: serversdk.Options{WriteTimeout: 5 * time.Second}}, func(t *testing.T, h *house) {
		g := h.ready("p")
		g.deaf() // stops reading: the write stalls, and then fails
		s := h.create()
		wait.Settle(6 * time.Second)
		if p := h.process("p"); p.Connected {
			t.Fatal("a connection that takes no bytes still stands")
		}
		back := h.connect("p")
		back.quiet()
		wait.Settle(170 * time.Second)
		back.want(200, back.ask("HeartbeatServerProcess", object{"HealthStatus": true}))
		wait.Settle(170 * time.Second)
		if got := h.game(s.ID).Status; got != session.Terminated {
			t.Errorf("game session is %s after its activation timeout", got)
		}
		back.push("TerminateProcess")
		back.quiet()
	})
}

// A push queued behind a stalled write was never tried, so it moves to the next
// connection; the stalled one does not.
func TestPush_UntriedMovesToTheNextConnection(t *testing.T) {
	in(t, config{server: serversdk.Options{WriteTimeout: 5 * time.Second}}, func(t *testing.T, h *house) {
		g, id := h.hosting("p")
		g.deaf()
		for _, data := range []string{"stalls", "second", "third"} {
			must(t, h.updateTo(id, data))
		}
		wait.Settle(6 * time.Second)
		back := h.connect("p")
		for _, want := range []string{"second", "third"} {
			if got := back.push("UpdateGameSession")["GameSession"].(object)["MatchmakerData"]; got != want {
				t.Errorf("told of %q, want %q", got, want)
			}
		}
		back.quiet()
	})
}

// A process that is to end is sent nothing else when it comes back.
func TestPush_TerminateReplacesWhatIsHeld(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g, id := h.hosting("p")
		g.lose()
		for range 100 { // far more than are kept
			must(t, h.update(id))
		}
		_, err := h.Sessions.Terminate(h.Ctx, id, session.Trigger)
		must(t, err)
		back := h.connect("p")
		back.push("TerminateProcess")
		back.quiet()
	})
}

func TestPush_HeldIsBounded(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g, id := h.hosting("p")
		g.lose()
		for range 100 {
			must(t, h.update(id))
		}
		back := h.connect("p")
		synctest.Wait()
		if n := len(back.pushes); n != 32 {
			t.Errorf("%d updates were held, want 32", n)
		}
	})
}

// A process that does not read loses its connection, rather than using our memory;
// others are not affected.
func TestSlowReader(t *testing.T) {
	in(t, config{server: serversdk.Options{WriteTimeout: time.Hour}}, func(t *testing.T, h *house) {
		g, id := h.hosting("p")
		other := h.ready("other")
		g.deaf()
		for range 600 {
			must(t, h.update(id))
		}
		synctest.Wait()
		if h.process("p").Connected {
			t.Error("the connection still stands with 600 frames unread")
		}
		other.want(200, other.ask("HeartbeatServerProcess", object{"HealthStatus": true}))
	})
}

// The end of the last connection is recorded in the store, and retried if that failed.
func TestDisconnect(t *testing.T) {
	driver := openGate()
	in(t, config{driver: driver}, func(t *testing.T, h *house) {
		first := h.ready("p")
		second := h.connect("p")
		first.lose()
		if !h.process("p").Connected {
			t.Fatal("counts as disconnected while a connection stands")
		}
		driver.failing.Store(true)
		second.lose()
		driver.failing.Store(false)
		wait.Settle(time.Minute)
		p := h.process("p")
		if p.Connected || p.ReconnectBy.IsZero() {
			t.Errorf("connected: %v, reconnect by %s", p.Connected, p.ReconnectBy)
		}
	})
}

func TestReconnectGrace(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g, id := h.hosting("p")
		g.lose()
		wait.Settle(239 * time.Second)
		if got := h.process("p").Status; got != compute.Active {
			t.Fatalf("process is %s within the grace", got)
		}
		wait.Settle(2 * time.Second)
		if p := h.process("p"); p.Why != event.ServerProcessCrashed {
			t.Errorf("why: %s", p.Why)
		}
		if got := h.game(id).Status; got != session.Terminated {
			t.Errorf("its game session is %s", got)
		}
		h.refused(t, "process given up", visit{id: "p"}, 403)
	})
}

// After a restart of Muster processes come back with their first token and go on; those
// that do not are given up after 300 s.
func TestRestart(t *testing.T) {
	driver := store.NewMemory()
	in(t, config{driver: driver}, func(t *testing.T, before *house) {
		comes, id := before.hosting("comes")
		before.ready("stays away")
		must(t, before.server.Stop(before.Ctx))
		if comes.ended() {
			t.Error("a close frame was sent")
		}
		must(t, before.Store.Close())

		h := newHouse(t, config{driver: driver, rejoin: true})
		h.t = t
		defer h.close()
		if p := h.process("comes"); p.Connected {
			t.Error("counts as connected before it came back")
		}
		g := h.connect("comes")
		players := h.reserve(id, "ann")
		g.want(200, g.ask("AcceptPlayerSession", object{"GameSessionId": id, "PlayerSessionId": players[0]}))
		wait.Settle(150 * time.Second)
		g.want(200, g.ask("HeartbeatServerProcess", object{"HealthStatus": true}))
		wait.Settle(149 * time.Second)
		if got := h.process("stays away").Status; got != compute.Active {
			t.Errorf("given up after 299 s: %s", got)
		}
		wait.Settle(2 * time.Second)
		if got := h.process("stays away").Status; got != compute.Terminated {
			t.Errorf("after 301 s: %s", got)
		}
		if got := h.process("comes").Status; got != compute.Active {
			t.Errorf("the process that came back is %s", got)
		}
	})
}

// Stop lets running requests finish and be answered, also if another one comes meanwhile, which is
// not.
func TestStop_FinishesRequests(t *testing.T) {
	driver := openGate()
	in(t, config{driver: driver}, func(t *testing.T, h *house) {
		g, id := h.hosting("p")
		players := h.reserve(id, "ann")
		driver.shut()
		request := g.send("AcceptPlayerSession", object{"GameSessionId": id, "PlayerSessionId": players[0]})
		synctest.Wait()
		stopped := make(chan error, 1)
		go func() { stopped <- h.server.Stop(h.Ctx) }()
		synctest.Wait()
		h.refused(t, "new process while stopping", visit{id: "new"}, 503)
		late := g.send("HeartbeatServerProcess", object{"HealthStatus": true})
		synctest.Wait()
		driver.open()
		g.want(200, g.answer(request))
		must(t, <-stopped)
		if g.ended() || len(g.answerTo(late)) != 0 {
			t.Error("the late request was answered, or a close frame sent")
		}
		if !h.process("p").Connected {
			t.Error("stopping marked the process as lost; that is for the next node to do")
		}
	})
}

// An answer that waits behind a push is written before the connection ends.
func TestStop_WritesWhatIsQueued(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		dialer := websocket.Dialer{NetDialContext: h.wire.dialer("198.51.100.1")}
		ws, _, err := dialer.Dial(h.url(visit{id: "p"}), nil)
		must(t, err)
		synctest.Wait()
		_, err = h.server.Refresh("wss://new.test/", func(compute.Ref) (string, error) { return "token", nil })
		must(t, err)
		synctest.Wait() // the push is being written, which needs the process to read
		must(t, ws.WriteMessage(websocket.TextMessage, []byte(`{"Action":"GetComputeCertificate","RequestId":"r"}`)))
		synctest.Wait()
		stopped := make(chan error, 1)
		go func() { stopped <- h.server.Stop(h.Ctx) }()
		synctest.Wait()
		for _, want := range []string{`"RefreshConnection"`, `"RequestId":"r"`} {
			_, frame, err := ws.ReadMessage()
			must(t, err)
			if !strings.Contains(string(frame), want) {
				t.Errorf("read %s, want %s", frame, want)
			}
		}
		must(t, <-stopped)
		if _, _, err := ws.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseAbnormalClosure) {
			t.Errorf("the connection ended with %v", err)
		}
	})
}

func TestStop_DoesNotWaitForever(t *testing.T) {
	driver := openGate()
	in(t, config{driver: driver}, func(t *testing.T, h *house) {
		g := h.connect("p")
		driver.shut()
		g.send("ActivateServerProcess", object{"Port": 1})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(h.Ctx, time.Second)
		defer cancel()
		if err := h.server.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		driver.open()
	})
}
