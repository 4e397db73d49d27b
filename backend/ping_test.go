package backend

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// wired is a player's WebSocket over loopback TCP.
type wired struct {
	*house
	client *websocket.Conn
	server *socket
}

// wire opens a WebSocket, and reads its greeting.
func (h *house) wire(s *httptest.Server) *wired {
	h.Helper()
	player, token := h.guest()
	d := websocket.Dialer{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	ws, _, err := d.DialContext(h.Ctx, "ws"+s.URL[len("http"):]+protocol.Base+"/ws", http.Header{"Authorization": {"Bearer " + token}})
	h.Must(err)
	_, _, err = ws.ReadMessage()
	h.Must(err)
	h.b.sockets.door.mu.Lock()
	defer h.b.sockets.door.mu.Unlock()
	return &wired{h, ws, h.b.sockets.door.of[player][0]}
}

// isWriting reports whether a goroutine writes.
func (w *wired) isWriting() bool {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	return w.server.writing
}

// Pings reach the client over TCP, where the system has direct ones without a goroutine, and
// over TLS; messages between them arrive whole.
func TestPing(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*httptest.Server){"plain": (*httptest.Server).Start, "TLS": (*httptest.Server).StartTLS} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			defer h.Close()
			s := httptest.NewUnstartedServer(h.b)
			begin(s)
			defer s.Close()
			w := h.wire(s)
			defer w.client.Close()
			if direct := w.server.raw != nil; direct != (name == "plain") {
				t.Errorf("pings are written directly: %v", direct)
			}
			var got []string
			w.client.SetPingHandler(func(string) error { got = append(got, "ping"); return nil })
			for range 3 {
				w.server.writer.Wait() // for the answer before
				w.server.ping(h.b.sockets.door.clock())
				h.Must(w.client.WriteMessage(websocket.TextMessage, []byte(`{"type":"ping"}`)))
				_, _, err := w.client.ReadMessage()
				h.Must(err)
				got = append(got, "message")
			}
			if want := []string{"ping", "message", "ping", "message", "ping", "message"}; !slices.Equal(got, want) {
				t.Errorf("received %q, want %q", got, want)
			}
		})
	}
}

// A ping for which a client's connection has no room waits in a goroutine, and arrives whole.
func TestPing_NoRoom(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	defer h.Close()
	s := httptest.NewServer(h.b)
	defer s.Close()
	w := h.wire(s)
	defer w.client.Close()
	h.Must(w.client.NetConn().(*net.TCPConn).SetReadBuffer(4 << 10))
	h.Must(w.server.ws.NetConn().(*joined).Conn.(*net.TCPConn).SetWriteBuffer(4 << 10))
	sent := 0
	for {
		written, err := writePing(w.server.raw)
		h.Must(err)
		if !written {
			break
		}
		sent++
	}
	if sent == 0 {
		return // this system has no direct pings
	}
	w.server.ping(h.b.sockets.door.clock())
	if !w.isWriting() {
		t.Error("no goroutine writes the ping")
	}
	got := 0
	w.client.SetPingHandler(func(string) error { got++; return nil })
	w.server.end(websocket.CloseGoingAway, "") // after the ping
	_, _, err := w.client.ReadMessage()
	if end, ok := errors.AsType[*websocket.CloseError](err); !ok || end.Code != websocket.CloseGoingAway {
		t.Errorf("the connection ended with %v", err)
	}
	if got < sent || got > sent+1 { // the close frame may replace the ping
		t.Errorf("%d pings arrived, of %d and one", got, sent)
	}
}

// recorder is a connection that records what is written.
type recorder struct {
	net.Conn
	writes []string
}

func (r *recorder) Write(p []byte) (int, error) {
	r.writes = append(r.writes, string(p))
	return len(p), nil
}

// The first bytes are sent with the next, and are copied, because their buffer is used again.
func TestJoined(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	j := &joined{Conn: r}
	buffer := make([]byte, 3)
	for _, text := range []string{"one", "two", "six"} {
		copy(buffer, text)
		if n, err := j.Write(buffer); n != 3 || err != nil {
			t.Errorf("%s: wrote %d, %v", text, n, err)
		}
	}
	if want := []string{"onetwo", "six"}; !slices.Equal(r.writes, want) {
		t.Errorf("wrote %q, want %q", r.writes, want)
	}
}
