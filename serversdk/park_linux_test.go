package serversdk_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/internal/sniff"
	"github.com/musterhq/muster/internal/wait"
)

// corked is a client's socket that can send several writes at once.
type corked struct {
	net.Conn
	cork bool
	kept []byte
}

func (c *corked) Write(b []byte) (int, error) {
	if c.cork {
		c.kept = append(c.kept, b...)
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// send sends what was written since the cork, in parts that end after n bytes and at the end.
func (c *corked) send(t *testing.T, n int, between func()) {
	c.cork = false
	_, err := c.Conn.Write(c.kept[:n])
	must(t, err)
	between()
	_, err = c.Conn.Write(c.kept[n:])
	must(t, err)
	c.kept = nil
}

// lot is a server on a loopback port, plain and TLS, with what a test does to its
// connections.
type lot struct {
	*testing.T
	*house
	address string
}

func openLot(t *testing.T) *lot {
	l := &lot{t, newHouse(t, config{}), ""}
	t.Cleanup(l.close)
	certificate, err := sniff.SelfSigned(t.TempDir(), []string{"127.0.0.1"}, time.Now())
	must(t, err)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	server := &http.Server{Handler: l.server}
	go server.Serve(sniff.Listen(inner, sniff.Options{Config: sniff.Config(certificate)}))
	t.Cleanup(func() { server.Close() })
	l.address = inner.Addr().String()
	return l
}

func (l *lot) dial(scheme, id string) (*websocket.Conn, *corked) {
	u, err := url.Parse(l.url(visit{id: id}))
	must(l, err)
	u.Scheme, u.Host = scheme, l.address
	socket := &corked{}
	dialer := websocket.Dialer{TLSClientConfig: trusting(), NetDialContext: func(ctx context.Context, network, to string) (_ net.Conn, err error) {
		socket.Conn, err = (&net.Dialer{}).DialContext(ctx, network, to)
		return socket, err
	}}
	ws, _, err := dialer.DialContext(l.Context(), u.String(), nil)
	must(l, err)
	l.Cleanup(func() { ws.Close() })
	return ws, socket
}

func (l *lot) beat(ws *websocket.Conn, id string) {
	must(l, ws.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `{"Action":"HeartbeatServerProcess","RequestId":%q,"HealthStatus":true}`, id)))
}

// hear reads a message that contains a text.
func (l *lot) hear(ws *websocket.Conn, text string) {
	l.Helper()
	_, frame, err := ws.ReadMessage()
	if err != nil || !strings.Contains(string(frame), text) {
		l.Fatalf("got %q, %v; want %s", frame, err, text)
	}
}

// until waits for a number of something.
func (l *lot) until(what string, of func() int, n int) {
	l.Helper()
	wait.For(l, fmt.Sprint(what, ": ", n), func() error {
		if got := of(); got != n {
			return fmt.Errorf("%d", got)
		}
		return nil
	})
}

func (l *lot) parked(n int) { l.Helper(); l.until("parked", l.server.Parked, n) }

// A connection without a goroutine answers what comes, in however many pieces, is sent
// pushes, and notices its end.
func TestParked(t *testing.T) {
	for _, scheme := range []string{"ws", "wss"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			l := openLot(t)
			ws, socket := l.dial(scheme, "p")
			for range 2 {
				l.parked(1)
				l.beat(ws, "one")
				l.hear(ws, "one")
			}

			l.parked(1)
			socket.cork = true
			l.beat(ws, "two")
			l.beat(ws, "three")
			socket.send(t, len(socket.kept), func() {}) // both at once
			_, first, err := ws.ReadMessage()
			must(t, err)
			_, second, err := ws.ReadMessage()
			must(t, err)
			if both := string(first) + string(second); !strings.Contains(both, "two") || !strings.Contains(both, "three") {
				t.Fatalf("answers %s", both)
			}

			l.parked(1)
			socket.cork = true
			l.beat(ws, "four")
			l.server.Parking(false)
			socket.send(t, 1, func() { // in two pieces; over TLS the first is not even a record
				l.parked(0)
				l.server.Parking(true)
			})
			l.hear(ws, "four")

			l.parked(1)
			if n, err := l.server.Refresh("wss://elsewhere.test", func(compute.Ref) (string, error) { return "t", nil }); n != 1 || err != nil {
				t.Fatalf("%d were told, %v", n, err)
			}
			l.hear(ws, "elsewhere.test")

			pong := make(chan string, 1)
			ws.SetPongHandler(func(data string) error { pong <- data; return nil })
			must(t, ws.WriteControl(websocket.PingMessage, []byte("still there"), time.Now().Add(time.Minute)))
			l.beat(ws, "five")
			l.hear(ws, "five")
			if got := <-pong; got != "still there" {
				t.Errorf("pong %q", got)
			}

			l.parked(1)
			socket.Conn.Close()
			l.until("connections", l.server.Connections, 0)
			wait.Until(t, "the process is not connected", func() bool { return !l.process("p").Connected })
		})
	}
}

// Connections that are parked end when the server stops, and when their process has ended.
func TestParked_Dropped(t *testing.T) {
	t.Parallel()
	l := openLot(t)
	gone, _ := l.dial("ws", "gone")
	l.dial("wss", "stays")
	l.parked(2)
	must(t, l.Computes.Exited(l.Ctx, l.ref("gone"), "exit status 1"))
	if _, _, err := gone.ReadMessage(); err == nil {
		t.Error("the connection of a process that ended is open")
	}
	l.until("connections", l.server.Connections, 1)
	must(t, l.server.Stop(l.Ctx))
	if n := l.server.Connections(); n != 0 {
		t.Errorf("%d connections are open", n)
	}
}

// A connection of which nothing is read gets pings, and has no goroutine again after each pong.
// One of which something was read gets none.
func TestParked_Pings(t *testing.T) {
	for _, scheme := range []string{"ws", "wss"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			l := openLot(t)
			ws, _ := l.dial(scheme, "p")
			pings, answers := make(chan bool, 10), make(chan string, 10)
			pong := ws.PingHandler()
			ws.SetPingHandler(func(data string) error {
				pings <- true
				return pong(data)
			})
			go func() {
				for {
					_, frame, err := ws.ReadMessage()
					if err != nil {
						return
					}
					answers <- string(frame)
				}
			}()
			l.parked(1)
			start := time.Now()
			at := func(seconds time.Duration) time.Time { return start.Add(seconds * time.Second) }
			for n := range time.Duration(3) {
				l.server.Ping(at(26+25*n-5), at(26+25*n))
				wait.Receive(t, "a ping", pings)
				l.parked(1)
			}
			l.server.Ping(at(5), at(10))
			l.server.Ping(at(30), at(35))
			l.beat(ws, "one")
			if got := wait.Receive(t, "the answer", answers); !strings.Contains(got, "one") {
				t.Errorf("answer %s", got)
			}
			if len(pings) > 0 {
				t.Error("a ping came though none was due")
			}
		})
	}
}
