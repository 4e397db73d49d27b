package serversdk_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/serversdk"
	"github.com/musterhq/muster/session"
)

// A process gets no game session before it receives pushes: after its first heartbeat,
// or 200 ms after the answer to ActivateServerProcess.
func TestHearing(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		beats, waits := h.connect("beats"), h.connect("waits")
		beats.activate(1)
		waits.activate(2)
		synctest.Wait()
		if h.process("beats").Free() || h.process("waits").Free() {
			t.Fatal("a process is free as soon as it is ACTIVE")
		}
		beats.want(200, beats.ask("HeartbeatServerProcess", object{"HealthStatus": true}))
		synctest.Wait()
		if !h.process("beats").Free() || h.process("waits").Free() {
			t.Fatal("want the one free whose heartbeat came, and not the other")
		}
		wait.Settle(199 * time.Millisecond)
		if h.process("waits").Free() {
			t.Fatal("free before 200 ms have passed")
		}
		wait.Settle(time.Millisecond)
		if !h.process("waits").Free() {
			t.Fatal("not free after 200 ms")
		}
	})
}

// A connection lost right after the answer may not have delivered it. A process that comes back
// counts as hearing a moment later, not only after its next heartbeat.
func TestHearing_NotWhereTheSocketWasLost(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g := h.connect("p")
		g.activate(1)
		g.lose()
		wait.Settle(8 * time.Second)
		if h.process("p").Hearing {
			t.Error("the process counts as hearing though its connection was lost at once")
		}
		h.connect("p")
		wait.Settle(time.Second)
		if h.process("p").Hearing {
			t.Fatal("the process counts as hearing without having said a thing")
		}
		wait.Settle(time.Second)
		if !h.process("p").Free() {
			t.Errorf("two seconds after it came back the process is not free: %+v", *h.process("p"))
		}
	})
}

// Reports count when they come, however long the store takes to record that the process
// hears, which the first of them causes.
func TestHealth_ReportsWhileTheStoreWaits(t *testing.T) {
	driver := openGate()
	in(t, config{driver: driver, server: serversdk.Options{HeartbeatTimeout: 10 * time.Second}}, func(t *testing.T, h *house) {
		g := h.connect("p")
		g.activate(1)
		driver.shut()
		for range 4 {
			wait.Settle(8 * time.Second)
			g.want(200, g.ask("HeartbeatServerProcess", object{"HealthStatus": true}))
		}
		driver.open()
		synctest.Wait()
		if got := h.process("p").Status; got != compute.Active {
			t.Errorf("the process is %s although it reported good health every 8 seconds", got)
		}
	})
}

func TestHealth_ThreeBadReports(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g, id := h.hosting("p")
		report := func(healthy bool) {
			g.want(200, g.ask("HeartbeatServerProcess", object{"HealthStatus": healthy}))
			synctest.Wait()
		}
		for _, healthy := range []bool{false, false, true, false, false} {
			report(healthy)
		}
		if got := h.process("p").Status; got != compute.Active {
			t.Fatalf("process is %s without three bad reports in a row", got)
		}
		report(false)
		g.push("TerminateProcess")
		if got := h.process("p").Status; got != compute.Terminating {
			t.Fatalf("process is %s after three bad reports in a row", got)
		}
		report(false)
		g.quiet()
		wait.Settle(31 * time.Second)
		if p := h.process("p"); p.Status != compute.Terminated || p.Why != event.ServerProcessUnhealthy {
			t.Errorf("after the grace: %s, %s", p.Status, p.Why)
		}
		if got := h.game(id).Status; got != session.Terminated {
			t.Errorf("its game session is %s", got)
		}
		if g.ended() {
			t.Error("a close frame was sent")
		}
	})
}

func TestHealth_NoHeartbeat(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g := h.ready("p")
		h.connect("initializing") // has not called ProcessReady, so need not send heartbeats
		wait.Settle(170 * time.Second)
		g.want(200, g.ask("HeartbeatServerProcess", object{"HealthStatus": true}))
		wait.Settle(40 * time.Second)
		if got := h.process("initializing").Status; got != compute.Initialized {
			t.Errorf("process that is not ready yet is %s after 210 s", got)
		}
		wait.Settle(139 * time.Second)
		if got := h.process("p").Status; got != compute.Active {
			t.Fatalf("process is %s before 180 s without a heartbeat", got)
		}
		wait.Settle(10 * time.Second)
		if p := h.process("p"); p.Status != compute.Terminating || p.Why != event.ServerProcessUnhealthy {
			t.Errorf("process is %s, %s after 189 s without a heartbeat", p.Status, p.Why)
		}
	})
}

// Time without a socket does not count as silence: the reconnect grace covers it.
func TestHealth_ReconnectStartsAnew(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		h.ready("p").lose()
		wait.Settle(230 * time.Second)
		g := h.connect("p")
		wait.Settle(170 * time.Second)
		g.want(200, g.ask("HeartbeatServerProcess", object{"HealthStatus": true}))
		if p := h.process("p"); p.Status != compute.Active || !p.Connected {
			t.Errorf("process is %s, connected: %v", p.Status, p.Connected)
		}
	})
}

func TestReadyTimeout(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g := h.connect("p")
		wait.Settle(300 * time.Second)
		g.push("TerminateProcess")
		if p := h.process("p"); p.Why != event.ServerProcessReadyTimeout {
			t.Errorf("why: %s", p.Why)
		}
		g.want(409, g.ask("ActivateServerProcess", object{"Port": 1}))
		wait.Settle(30 * time.Second)
		if got := h.process("p").Status; got != compute.Terminated {
			t.Errorf("process is %s", got)
		}
	})
}

// A process that is told to end has the stop grace, and may reconnect within it.
func TestStopGrace(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g, id := h.hosting("p")
		_, err := h.Sessions.Terminate(h.Ctx, id, session.Trigger)
		must(t, err)
		by := g.push("TerminateProcess")["TerminationTime"].(float64)
		if want := time.Now().Add(5 * time.Minute).UnixMilli(); int64(by) != want {
			t.Errorf("TerminationTime %.0f, want %d", by, want)
		}
		g.lose()
		back := h.connect("p")
		if again := back.push("TerminateProcess")["TerminationTime"]; again != by {
			t.Errorf("told again with another time: %v", again)
		}
		back.quiet()
		wait.Settle(4 * time.Minute)
		back.want(200, back.ask("HeartbeatServerProcess", object{"HealthStatus": true}))
		wait.Settle(61 * time.Second)
		if p := h.process("p"); p.Status != compute.Terminated || p.Why != event.ServerProcessForceTerminated {
			t.Errorf("process is %s, %s", p.Status, p.Why)
		}
		if back.ended() {
			t.Error("a close frame was sent")
		}
	})
}

// After a process has announced its end, it keeps its socket for half a minute.
func TestEndLinger(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		g := h.ready("p")
		g.want(200, g.ask("TerminateServerProcess", nil))
		wait.Settle(30 * time.Second)
		if !g.alive() {
			t.Fatal("the socket was closed within 30 s")
		}
		g.want(200, g.ask("TerminateServerProcess", nil)) // announces it twice
		wait.Settle(10 * time.Second)
		if g.alive() {
			t.Fatal("the socket still stands after 40 s")
		}
	})
}

// asleep is a host that runs every process and kills none.
type asleep struct{}

func (asleep) Owns(compute.Ref) bool         { return true }
func (asleep) Ended(compute.Ref, event.Code) {}

// A process that its host is to kill keeps its socket until then, but not forever.
func TestEndLinger_NotKilled(t *testing.T) {
	in(t, config{}, func(t *testing.T, h *house) {
		h.Instances.AddLauncher(asleep{})
		g := h.ready("p")
		must(t, h.Computes.Deregister(h.Ctx, h.fleet.ID, computeName))
		wait.Settle(30 * time.Second)
		if !g.alive() {
			t.Fatal("the socket was closed within 30 s, before the process was killed")
		}
		wait.Settle(10 * time.Second)
		if g.alive() || g.ended() {
			t.Fatal("the socket was not dropped within 40 s, or with a close frame")
		}
	})
}

// An older connection that fell silent is dropped, a silent only one is not.
func TestSupersededConnection(t *testing.T) {
	in(t, config{server: serversdk.Options{HeartbeatTimeout: time.Hour}}, func(t *testing.T, h *house) {
		only := h.ready("only")
		older := h.ready("moved")
		newer := h.connect("moved")
		wait.Settle(179 * time.Second)
		if !older.alive() {
			t.Fatal("dropped before 3 minutes")
		}
		wait.Settle(10 * time.Second)
		if older.alive() || !newer.alive() || !only.alive() {
			t.Errorf("alive: older %v, newer %v, only %v", older.alive(), newer.alive(), only.alive())
		}
		if p := h.process("moved"); !p.Connected {
			t.Error("the process counts as disconnected")
		}
	})
}
