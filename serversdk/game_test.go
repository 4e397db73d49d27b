package serversdk_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
)

type waiter struct{ sync.WaitGroup }

// object is a JSON object as received.
type object = map[string]any

// game is a game server process that implements the protocol by hand.
type game struct {
	h       *house
	id      string
	ws      *websocket.Conn
	raw     *stalling
	pushes  chan object
	closed  chan struct{} // closed when reading has ended
	why     error         // why it ended; read after closed
	mu      sync.Mutex
	answers map[string]chan object
	asked   int
}

// visit says how a process connects.
type visit struct {
	id    string
	auth  string // "" = the house's token, "-" = none
	from  string // host; "" = 198.51.100.1
	path  string // "" = /
	query url.Values
}

func (h *house) url(v visit) string {
	q := url.Values{
		"pID": {v.id}, "ComputeId": {computeName}, "FleetId": {h.fleet.ID}, "IdempotencyToken": {"once"},
		"sdkVersion": {"5.5.0"}, "sdkLanguage": {"Go"}, "Authorization": {h.token},
	}
	switch v.auth {
	case "":
	case "-":
		q.Del("Authorization")
	default:
		q.Set("Authorization", v.auth)
	}
	for key, values := range v.query {
		q[key] = values
	}
	if v.path == "" {
		v.path = "/"
	}
	return "ws://muster.test" + v.path + "?" + q.Encode()
}

// dial connects, and returns the HTTP answer if that was refused.
func (h *house) dial(v visit) (*game, *http.Response, error) {
	if v.from == "" {
		v.from = "198.51.100.1"
	}
	g := &game{h: h, id: v.id, pushes: make(chan object, 100), closed: make(chan struct{}), answers: map[string]chan object{}}
	dialer := websocket.Dialer{NetDialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		c, err := h.wire.dial(ctx, v.from)
		g.raw = &stalling{Conn: c}
		return g.raw, err
	}}
	ws, response, err := dialer.Dial(h.url(v), http.Header{"User-Agent": {"gamelift-go-sdk/1.0"}})
	if err != nil {
		return nil, response, err
	}
	g.ws = ws
	go g.read()
	return g, response, nil
}

// connect is like dial, and fails the test on an error.
func (h *house) connect(id string) *game {
	h.t.Helper()
	g, _, err := h.dial(visit{id: id})
	h.Must(err)
	return g
}

// ready connects a process and calls ProcessReady and the first heartbeat.
func (h *house) ready(id string) *game {
	h.t.Helper()
	g := h.connect(id)
	g.activate(7777)
	g.want(200, g.ask("HeartbeatServerProcess", object{"HealthStatus": true}))
	synctest.Wait()
	return g
}

// hosting returns a process with an ACTIVE game session.
func (h *house) hosting(id string) (*game, string) {
	h.t.Helper()
	g := h.ready(id)
	s := h.create()
	g.push("CreateGameSession")
	g.want(200, g.ask("ActivateGameSession", object{"GameSessionId": s.ID}))
	return g, s.ID
}

func (g *game) read() {
	defer close(g.closed)
	for {
		kind, frame, err := g.ws.ReadMessage()
		if err != nil {
			g.why = err
			g.ws.Close()
			return
		}
		if kind != websocket.TextMessage {
			g.h.t.Errorf("frame %s: of type %d, want text", frame, kind)
		}
		var o object
		if err := json.Unmarshal(frame, &o); err != nil {
			g.h.t.Errorf("frame %s: %v", frame, err)
			continue
		}
		if id, isAnswer := o["RequestId"]; isAnswer {
			o["raw"] = string(frame)
			g.answerTo(id.(string)) <- o
			continue
		}
		o["raw"] = string(frame)
		g.pushes <- o
	}
}

func (g *game) answerTo(id string) chan object {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.answers[id] == nil {
		g.answers[id] = make(chan object, 10)
	}
	return g.answers[id]
}

// send writes a request and returns its RequestId.
func (g *game) send(action string, members object) string {
	g.h.t.Helper()
	o := object{"Action": action}
	for k, v := range members {
		o[k] = v
	}
	g.mu.Lock()
	g.asked++
	if o["RequestId"] == nil {
		o["RequestId"] = fmt.Sprintf("%s-%d", action, g.asked)
	}
	g.mu.Unlock()
	frame, err := json.Marshal(o)
	must(g.h.t, err)
	must(g.h.t, g.ws.WriteMessage(websocket.TextMessage, frame))
	return o["RequestId"].(string)
}

// ask sends a request and returns its answer.
func (g *game) ask(action string, members object) object {
	g.h.t.Helper()
	return g.answer(g.send(action, members))
}

func (g *game) answer(id string) object {
	g.h.t.Helper()
	o, ok := g.take(g.answerTo(id))
	if !ok {
		g.h.t.Fatalf("connection of %s ended while %s was unanswered: %v", g.id, id, g.why)
	}
	return o
}

// take waits for a message. A message received before the connection ended counts, even
// if both are found at once.
func (g *game) take(from chan object) (o object, ok bool) {
	select {
	case o = <-from:
		return o, true
	case <-g.closed:
	}
	select {
	case o = <-from:
		return o, true
	default:
		return nil, false
	}
}

func (g *game) activate(port int) {
	g.h.t.Helper()
	g.want(200, g.ask("ActivateServerProcess", object{"SdkVersion": "5.5.0", "SdkLanguage": "Go", "Port": port, "LogPaths": nil}))
}

// want checks an answer's status, and the form that every answer has.
func (g *game) want(status int, o object) object {
	g.h.t.Helper()
	if got, ok := o["StatusCode"].(float64); !ok || int(got) != status {
		g.h.t.Fatalf("answer %v: want StatusCode %d", o["raw"], status)
	}
	if o["Action"] == "" || o["Action"] == nil {
		g.h.t.Fatalf("answer %v: has no Action", o["raw"])
	}
	if (status != 200) != (o["ErrorMessage"] != nil) {
		g.h.t.Fatalf("answer %v: ErrorMessage belongs to errors and to nothing else", o["raw"])
	}
	return o
}

// push waits for a push of an action.
func (g *game) push(action string) object {
	g.h.t.Helper()
	o, ok := g.take(g.pushes)
	if !ok {
		g.h.t.Fatalf("connection of %s ended without push %s: %v", g.id, action, g.why)
	}
	if o["Action"] != action {
		g.h.t.Fatalf("push %v: want %s", o, action)
	}
	return o
}

// quiet fails the test if a push has come.
func (g *game) quiet() {
	g.h.t.Helper()
	synctest.Wait()
	select {
	case o := <-g.pushes:
		g.h.t.Fatalf("unexpected push %v", o)
	default:
	}
}

// lose drops the socket without a close frame, and waits for the server to see it.
func (g *game) lose() {
	g.raw.Close()
	<-g.closed
	synctest.Wait()
}

// ended waits for the end of the connection and reports whether the server sent a close
// frame.
func (g *game) ended() (frame bool) {
	<-g.closed
	var c *websocket.CloseError
	return errors.As(g.why, &c) && c.Code != websocket.CloseAbnormalClosure
}

// alive reports whether the connection is open.
func (g *game) alive() bool {
	synctest.Wait()
	select {
	case <-g.closed:
		return false
	default:
		return true
	}
}

func body(r *http.Response) string {
	if r == nil {
		return ""
	}
	b, _ := io.ReadAll(r.Body)
	return string(b)
}

// deaf makes the process stop reading, while its socket stays open.
func (g *game) deaf() {
	g.raw.stalled.Store(true)
	must(g.h.t, g.ws.SetReadDeadline(time.Now())) // ends the read in progress
	<-g.closed
}

// stalling is a connection that outlives its reader.
type stalling struct {
	net.Conn
	stalled atomic.Bool
}

// Close leaves the pipe open if the process is deaf.
func (s *stalling) Close() error {
	if s.stalled.Load() {
		return nil
	}
	return s.Conn.Close()
}

// trusting returns the TLS configuration of the C++ SDK, which does not verify.
func trusting() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }
