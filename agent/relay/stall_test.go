package relay

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wait"
)

// in runs f with a relay in virtual time. visit connects a process to it; up is its way to
// Muster.
func in(t *testing.T, f func(t *testing.T, m *muster, r *Relay, visit func(id string) *websocket.Conn, up *wire)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		up, loopback := newWire(), newWire()
		m := &muster{t: t, heard: make(chan protocol.Relayed, 1000)}
		server := &http.Server{Handler: m}
		go server.Serve(up)
		r, err := listenOn(loopback, Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Dial: func(ctx context.Context) (*websocket.Conn, error) {
			ws, _, err := up.dialer().DialContext(ctx, "ws://muster/", nil)
			return ws, err
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { r.Run(ctx) })
		defer func() {
			up.set(true)
			server.Close()
			cancel()
			running.Wait()
		}()
		synctest.Wait()
		f(t, m, r, func(id string) *websocket.Conn {
			r.Admit(id, "own", func() string { return "compute-token" })
			q := url.Values{"pID": {id}, "ComputeId": {"i-1"}, "FleetId": {"fleet-1"}, "Authorization": {"own"}}
			ws, _, err := loopback.dialer().Dial("ws://relay/?"+q.Encode(), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { ws.NetConn().Close() })
			synctest.Wait() // until the relay serves it: the order of connections counts
			return ws
		}, up)
	})
}

// A process that does not read is cut off, and delays nobody.
func TestRelay_ProcessThatDoesNotRead(t *testing.T) {
	for name, frames := range map[string]struct{ number, size int }{"one message": {1, 100}, "many bytes": {17, 1 << 19}, "many messages": {maxUnread + 2, 10}} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, m *muster, r *Relay, visit func(string) *websocket.Conn, _ *wire) {
				deaf := visit("deaf")
				stream := m.next(protocol.RelayOpen).Stream
				other := visit("other")
				m.next(protocol.RelayOpen)
				began := time.Now()
				push := `{"Action":"UpdateGameSession","Data":"` + strings.Repeat("x", frames.size) + `"}`
				for range frames.number {
					m.send(protocol.Relayed{Op: protocol.RelayFrame, Stream: stream, Payload: []byte(push)})
				}
				say(t, other, "AcceptPlayerSession", "r1")
				m.answer(m.next(protocol.RelayFrame))
				hear(t, other, `"RequestId":"r1"`)
				if waited := time.Since(began); waited > 0 {
					t.Errorf("the other process was answered after %s", waited)
				}
				if frames.number == 1 {
					wait.Pass(writing)
				}
				synctest.Wait()
				r.mu.Lock()
				p := r.processes["deaf"]
				r.mu.Unlock()
				p.mu.Lock()
				if p.down != nil {
					t.Errorf("the process that does not read is still connected %s later", time.Since(began))
				}
				p.mu.Unlock()
				if _, _, err := deaf.ReadMessage(); err == nil || websocket.IsCloseError(err, websocket.CloseNormalClosure) {
					t.Errorf("the connection ended with %v", err)
				}
				say(t, other, "AcceptPlayerSession", "r2")
				m.answer(m.next(protocol.RelayFrame))
				hear(t, other, `"RequestId":"r2"`)
			})
		})
	}
}

// The requests of a process that wait for the link have a limited size; more are refused,
// and those that waited are sent.
func TestRelay_WaitingBytes(t *testing.T) {
	in(t, func(t *testing.T, m *muster, r *Relay, visit func(string) *websocket.Conn, _ *wire) {
		game := visit("p1")
		m.next(protocol.RelayOpen)
		m.leave(true)
		synctest.Wait()
		request := func(id string) {
			text := `{"Action":"StartMatchBackfill","RequestId":"` + id + `","Padding":"` + strings.Repeat("x", 1<<20-200) + `"}`
			if err := game.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		for n := range 8 {
			request(strconv.Itoa(n))
		}
		request("refused")
		hear(t, game, `"RequestId":"refused","StatusCode":503`)
		say(t, game, goodbye, "bye")
		hear(t, game, `"RequestId":"bye","StatusCode":200`)
		m.leave(false)
		for n := range 8 {
			if f := m.next(protocol.RelayFrame); !strings.Contains(string(f.Payload[:100]), `"`+strconv.Itoa(n)+`"`) {
				t.Errorf("request %d is sent as %s", n, f.Payload[:100])
			} else {
				m.answer(f)
				hear(t, game, `"RequestId":"`+strconv.Itoa(n)+`"`)
			}
		}
		r.Forget("p1")
		if left := r.waiting.Load(); left != 0 {
			t.Errorf("%d bytes count as waiting", left)
		}
	})
}

// A process has a limited number of connections; the oldest is dropped, and others are not
// affected.
func TestRelay_ConnectionsOfOneProcess(t *testing.T) {
	in(t, func(t *testing.T, m *muster, _ *Relay, visit func(string) *websocket.Conn, _ *wire) {
		other := visit("other")
		m.next(protocol.RelayOpen)
		first := visit("many")
		m.next(protocol.RelayOpen)
		second := visit("many")
		for range maxOpen - 1 {
			visit("many")
		}
		if _, _, err := first.ReadMessage(); err == nil {
			t.Error("the oldest connection is not dropped")
		}
		for _, ws := range []*websocket.Conn{second, other} {
			say(t, ws, heartbeat, "r1")
			m.answer(m.next(protocol.RelayFrame))
		}
		hear(t, other, `"RequestId":"r1"`)
	})
}
