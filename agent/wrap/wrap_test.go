//go:build unix

package wrap

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/agent/legacy"
	"github.com/musterhq/muster/internal/wait"
)

// muster plays the other end for a test: it answers every request with 200.
type muster struct {
	t     *testing.T
	url   string
	conns chan *peer
	heard chan map[string]any
}

// peer is a connection that both answers and pushes may write to.
type peer struct {
	*websocket.Conn
	mu sync.Mutex
}

func (p *peer) say(v any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.WriteJSON(v) // a wrapper that has ended does not receive it
}

func play(t *testing.T) *muster {
	m := &muster{t: t, conns: make(chan *peer, 10), heard: make(chan map[string]any, 100)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("pID") != "p1" || q.Get("ComputeId") != "host-1" || q.Get("FleetId") != "fleet-1" || q.Get("Authorization") != "token" {
			t.Errorf("the wrapper shows %v", q)
		}
		ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		p := &peer{Conn: ws}
		m.conns <- p
		for {
			_, frame, err := ws.ReadMessage()
			if err != nil {
				return
			}
			var request map[string]any
			if err := json.Unmarshal(frame, &request); err != nil {
				t.Error(err)
			}
			m.heard <- request
			p.say(map[string]any{"Action": request["Action"], "RequestId": request["RequestId"], "StatusCode": 200})
		}
	}))
	t.Cleanup(server.Close)
	m.url = "ws" + strings.TrimPrefix(server.URL, "http")
	return m
}

// next waits for a request.
func (m *muster) next(action string) map[string]any {
	m.t.Helper()
	late := time.After(wait.Patience())
	for {
		select {
		case r := <-m.heard:
			if r["Action"] == action {
				return r
			}
		case <-late:
			m.t.Fatalf("no %s came", action)
		}
	}
}

// wrap starts a wrapper around a script.
func wrap(t *testing.T, m *muster, script string, args ...string) (ended chan int) {
	t.Helper()
	return wrapWith(t, m, script, Options{Args: args, Ready: Readiness{After: time.Millisecond}})
}

// wrapWith is wrap with options.
func wrapWith(t *testing.T, m *muster, script string, o Options) (ended chan int) {
	t.Helper()
	o.Program, o.Port = filepath.Join(t.TempDir(), "game"), 7777
	if err := os.WriteFile(o.Program, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return runWrapper(t, m, o)
}

// runWrapper runs a wrapper until the test ends.
func runWrapper(t *testing.T, m *muster, o Options) (ended chan int) {
	t.Helper()
	o.URL, o.Token, o.FleetID, o.HostID, o.ProcessID = m.url, "token", "fleet-1", "host-1", "p1"
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended = make(chan int, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		code, err := Run(ctx, o)
		if _, signaled := errors.AsType[*Signaled](err); err != nil && !signaled {
			t.Errorf("the wrapper ends with %v", err)
		}
		ended <- code
	}()
	t.Cleanup(func() { cancel(); <-done })
	return ended
}

const game = `{"Action":"CreateGameSession","GameSessionId":"arn:g","GameSessionName":"friday","MaximumPlayerSessionCount":4,"Port":7777,"GameProperties":{"map":"winter"}}`

func TestWrap_HostsOneGame(t *testing.T) {
	t.Parallel()
	m := play(t)
	seen := filepath.Join(t.TempDir(), "seen")
	over := fifo(t)
	ended := wrap(t, m, `echo "$@" "$GAME_SESSION_NAME" > `+seen+`; cat `+over+`; exit 3`, "{{.GameSessionId}}", "{{.GamePort}}", "{{.GameProperties}}", "{{.Other}}")
	ws := <-m.conns
	if r := m.next("ActivateServerProcess"); r["Port"] != 7777.0 {
		t.Errorf("ready as %v", r)
	}
	m.next("HeartbeatServerProcess")
	ws.say(json.RawMessage(game))
	if r := m.next("ActivateGameSession"); r["GameSessionId"] != "arn:g" {
		t.Errorf("activated %v", r)
	}
	if err := os.WriteFile(over, nil, 0); err != nil {
		t.Fatal(err)
	}
	m.next("TerminateServerProcess")
	if code := <-ended; code != 3 {
		t.Errorf("exit code %d, want the program's 3", code)
	}
	text, err := os.ReadFile(seen)
	if want := `arn:g 7777 {"map":"winter"} {{.Other}} friday` + "\n"; err != nil || string(text) != want {
		t.Errorf("the program was told %q, %v; want %q", text, err, want)
	}
}

// fifo creates a pipe whose reader waits for a writer.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A program that ends immediately gets no game session activated. If an agent reports
// its crash, the wrapper sends no ProcessEnding, which would hide the crash.
func TestWrap_CrashIsNoEnding(t *testing.T) {
	t.Parallel()
	for _, watched := range []bool{true, false} {
		m := play(t)
		ended := wrapWith(t, m, "exit 3", Options{Ready: Readiness{After: time.Hour}, Watched: watched})
		ws := <-m.conns
		m.next("HeartbeatServerProcess")
		ws.say(json.RawMessage(game))
		if code := <-ended; code != 3 {
			t.Errorf("exit code %d, want the program's 3", code)
		}
		said := map[any]bool{}
		for len(m.heard) > 0 {
			said[(<-m.heard)["Action"]] = true
		}
		if said["ActivateGameSession"] {
			t.Error("the game session is activated though its program has ended")
		}
		if said["TerminateServerProcess"] == watched {
			t.Errorf("watched by an agent: %v; ProcessEnding called: %v", watched, !watched)
		}
	}
}

func TestWrap_EndsItsProgram(t *testing.T) {
	t.Parallel()
	m := play(t)
	ended := wrap(t, m, "exec sleep 100")
	ws := <-m.conns
	m.next("ActivateServerProcess")
	ws.say(json.RawMessage(game))
	m.next("ActivateGameSession")
	ws.NetConn().Close() // the connection breaks, and is opened again
	ws = <-m.conns
	ws.say(map[string]any{"Action": "TerminateProcess", "TerminationTime": time.Now().Add(time.Minute).UnixMilli()})
	m.next("TerminateServerProcess")
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

func TestWrap_EndsWithoutAGame(t *testing.T) {
	t.Parallel()
	m := play(t)
	ended := wrap(t, m, "exit 9")
	ws := <-m.conns
	m.next("HeartbeatServerProcess")
	ws.say(map[string]any{"Action": "TerminateProcess", "TerminationTime": time.Now().UnixMilli()})
	m.next("TerminateServerProcess")
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d, want 0: no game came", code)
	}
}

// A program with Server SDK 3 or 4 is started at once, and its exit code is the wrapper's;
// where its ports are taken, it is not started.
func TestRun_Legacy(t *testing.T) {
	t.Parallel()
	m := play(t)
	started := filepath.Join(t.TempDir(), "started")
	o := Options{
		URL: m.url, Token: "token", FleetID: "fleet-1", HostID: "host-1", ProcessID: "p1", Port: 7777, Legacy: &legacy.Ports{},
		Program: "/bin/sh", Args: []string{"-c", "echo $0 > " + started + "; exit 3", "{{.GamePort}}"},
	}
	if code, err := Run(t.Context(), o); code != 3 || err != nil {
		t.Errorf("it ends with %d, %v; want 3", code, err)
	}
	if port, err := os.ReadFile(started); strings.TrimSpace(string(port)) != "7777" {
		t.Errorf("the program is given port %q, %v", port, err)
	}
	os.Remove(started)
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	o.Legacy = &legacy.Ports{HTTP: taken.Addr().(*net.TCPAddr).Port}
	if code, err := Run(t.Context(), o); code == 0 || err == nil || !strings.Contains(err.Error(), "is taken") {
		t.Errorf("without its ports it ends with %d, %v", code, err)
	}
	if _, err := os.Stat(started); err == nil {
		t.Error("the program was started without its ports")
	}
}
