package relay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wait"
)

// wire is a network of pipes, which works in virtual time.
type wire struct {
	calls  chan net.Conn
	closed chan struct{}
	once   sync.Once

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func newWire() *wire { return &wire{calls: make(chan net.Conn), closed: make(chan struct{})} }

var errCut = errors.New("the wire is cut")

// DialContext connects to the listener.
func (w *wire) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		return nil, errCut
	}
	select {
	case w.calls <- far:
		w.conns = append(w.conns, near)
		return near, nil
	case <-w.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// set cuts the wire, with every connection on it, or restores it.
func (w *wire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	for _, c := range w.conns {
		if cut {
			c.Close()
		}
	}
}

func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.calls:
		return c, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

func (w *wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

func (w *wire) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// dialer returns a dialer of WebSockets over a wire.
func (w *wire) dialer() *websocket.Dialer { return &websocket.Dialer{NetDialContext: w.DialContext} }

// TestRelay_TenMinutes makes Muster unreachable for ten minutes of virtual time. A process
// that sends a heartbeat each minute is answered each time on its one connection; Muster
// then receives the request that waited and the last heartbeat that it missed, and no more.
func TestRelay_TenMinutes(t *testing.T) {
	in(t, func(t *testing.T, m *muster, _ *Relay, visit func(string) *websocket.Conn, up *wire) {
		game := visit("p1")
		shown, err := url.ParseQuery(string(m.next(protocol.RelayOpen).Payload))
		if err != nil || shown.Get("Authorization") != "compute-token" || shown.Get("pID") != "p1" || shown.Has(protocol.RelayHosts) {
			t.Errorf("Muster is shown %v, %v", shown, err)
		}
		say(t, game, "ActivateServerProcess", "ready")
		m.answer(m.next(protocol.RelayFrame))
		hear(t, game, `"RequestId":"ready"`)

		away := time.Now()
		up.set(true)
		for n := range 10 {
			wait.Pass(time.Minute)
			id := fmt.Sprint("beat-", n)
			say(t, game, heartbeat, id)
			hear(t, game, `"RequestId":"`+id+`"`)
		}
		if d := time.Since(away); d < 10*time.Minute {
			t.Fatalf("Muster was away for %s only", d)
		}
		say(t, game, "AcceptPlayerSession", "waits")
		up.set(false)
		open := m.next(protocol.RelayOpen)
		if !strings.Contains(string(open.Payload), "pID=p1") {
			t.Errorf("the process comes back as %s", open.Payload)
		}
		for _, want := range []string{"waits", "beat-9"} { // the request that waited, and the last heartbeat
			again := m.next(protocol.RelayFrame)
			if !strings.Contains(string(again.Payload), `"`+want+`"`) {
				t.Errorf("Muster hears %s, want %s", again.Payload, want)
			}
			m.answer(again)
		}
		hear(t, game, `"RequestId":"waits"`)
		say(t, game, heartbeat, "beat-10")
		f := m.next(protocol.RelayFrame)
		if !strings.Contains(string(f.Payload), `"beat-10"`) {
			t.Errorf("Muster hears %s, want the heartbeat of now", f.Payload)
		}
		m.answer(f)
		hear(t, game, `"RequestId":"beat-10"`) // and not a second answer to the one before
		m.send(protocol.Relayed{Op: protocol.RelayFrame, Stream: f.Stream, Payload: []byte(`{"Action":"CreateGameSession"}`)})
		hear(t, game, "CreateGameSession")
	})
}
