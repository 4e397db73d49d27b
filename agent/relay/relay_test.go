package relay

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wait"
)

// muster is the other end of the relay's WebSocket.
type muster struct {
	t      *testing.T
	server *httptest.Server
	heard  chan protocol.Relayed

	mu     sync.Mutex
	away   bool
	refuse bool
	first  string // is sent to each process as soon as it is let in
	ws     *websocket.Conn
}

func play(t *testing.T) *muster {
	m := &muster{t: t, heard: make(chan protocol.Relayed, 100)}
	m.server = httptest.NewServer(m)
	t.Cleanup(func() {
		m.leave(true)
		m.server.Close()
	})
	return m
}

// ServeHTTP accepts the relay's WebSocket.
func (m *muster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	away := m.away
	m.mu.Unlock()
	if away {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	m.mu.Lock()
	m.ws = ws
	m.mu.Unlock()
	for {
		_, frame, err := ws.ReadMessage()
		if err != nil {
			return
		}
		f, err := protocol.ParseRelayed(frame)
		if err != nil {
			m.t.Error(err)
			return
		}
		f.Payload = append([]byte(nil), f.Payload...)
		if f.Op == protocol.RelayOpen {
			m.mu.Lock()
			op := protocol.RelayAccept
			if m.refuse {
				op = protocol.RelayRefuse
			}
			first := m.first
			m.mu.Unlock()
			if first != "" {
				m.send(protocol.Relayed{Op: protocol.RelayFrame, Stream: f.Stream, Payload: []byte(first)})
			}
			m.send(protocol.Relayed{Op: op, Stream: f.Stream})
		}
		m.heard <- f
	}
}

func (m *muster) send(f protocol.Relayed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ws.WriteMessage(websocket.BinaryMessage, f.Bytes())
}

// leave makes Muster unreachable, or reachable again.
func (m *muster) leave(away bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.away = away
	if away && m.ws != nil {
		m.ws.NetConn().Close()
	}
}

// cut makes Muster unreachable, and waits until the relay has noticed.
func (m *muster) cut(r *Relay) {
	m.t.Helper()
	m.leave(true)
	wait.Until(m.t, "the link has ended", func() bool { return r.uplink() == nil })
}

// next waits for a frame of a kind.
func (m *muster) next(op protocol.RelayOp) protocol.Relayed {
	m.t.Helper()
	late := time.After(wait.Patience())
	for {
		select {
		case f := <-m.heard:
			if f.Op == op {
				return f
			}
		case <-late:
			m.t.Fatalf("no frame %d came", op)
		}
	}
}

// answer sends the answer to a request.
func (m *muster) answer(f protocol.Relayed) {
	var h head
	if err := json.Unmarshal(f.Payload, &h); err != nil {
		m.t.Fatal(err)
	}
	m.send(protocol.Relayed{Op: protocol.RelayFrame, Stream: f.Stream,
		Payload: []byte(`{"Action":"` + h.Action + `","RequestId":"` + h.RequestID + `","StatusCode":200}`)})
}

func start(t *testing.T, m *muster) *Relay {
	t.Helper()
	r, err := Listen(Options{Dir: t.TempDir(), Dial: func(ctx context.Context) (*websocket.Conn, error) {
		ws, _, err := websocket.DefaultDialer.DialContext(ctx, "ws"+strings.TrimPrefix(m.server.URL, "http"), nil)
		return ws, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); r.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return r
}

// admitting starts a relay that lets the process p1 in, and what it connects to.
func admitting(t *testing.T) (*muster, *Relay) {
	t.Helper()
	m := play(t)
	r := start(t, m)
	r.Admit("p1", "own", func() string { return "t" })
	return m, r
}

// dial connects as AWS's SDKs do.
func dial(r *Relay, id, token string) (*websocket.Conn, int, error) {
	q := url.Values{"pID": {id}, "ComputeId": {"i-1"}, "FleetId": {"fleet-1"}, "Authorization": {token}}
	ws, res, err := websocket.DefaultDialer.Dial(r.URL()+"?"+q.Encode(), nil)
	status := 0
	if res != nil {
		status = res.StatusCode
	}
	return ws, status, err
}

// connected connects a process once the link is up.
func connected(t *testing.T, r *Relay, id, token string) *websocket.Conn {
	t.Helper()
	ws := wait.Value(t, "the process is connected", func() (*websocket.Conn, error) {
		ws, status, err := dial(r, id, token)
		if err != nil && status != http.StatusServiceUnavailable {
			t.Fatalf("not connected: %d %v", status, err)
		}
		return ws, err
	})
	t.Cleanup(func() { ws.Close() }) // and the connection is not collected before
	return ws
}

func say(t *testing.T, ws *websocket.Conn, action, id string) {
	t.Helper()
	if err := ws.WriteMessage(websocket.TextMessage, []byte(`{"Action":"`+action+`","RequestId":"`+id+`"}`)); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, ws *websocket.Conn, want string) {
	t.Helper()
	ws.SetReadDeadline(time.Now().Add(time.Minute))
	_, frame, err := ws.ReadMessage()
	if err != nil || !strings.Contains(string(frame), want) {
		t.Fatalf("heard %s, %v; want %q", frame, err, want)
	}
}

// On each new link Muster is told what a process hosts, once this agent has seen it become
// ready.
func TestRelay_TellsWhatIsHosted(t *testing.T) {
	t.Parallel()
	m, r := admitting(t)
	game := connected(t, r, "p1", "own")
	var stream uint32
	told := func() (hosts string, known bool) {
		t.Helper()
		f := m.next(protocol.RelayOpen)
		open, err := url.ParseQuery(string(f.Payload))
		if err != nil {
			t.Fatal(err)
		}
		stream = f.Stream
		return open.Get(protocol.RelayHosts), open.Has(protocol.RelayHosts)
	}
	again := func() {
		t.Helper()
		m.cut(r)
		m.leave(false)
	}
	if hosts, known := told(); known {
		t.Errorf("before it is ready, it is said to host %q", hosts)
	}
	say(t, game, "ActivateServerProcess", "r1")
	m.answer(m.next(protocol.RelayFrame))
	hear(t, game, `"RequestId":"r1"`)
	again()
	if hosts, known := told(); hosts != "" || !known {
		t.Errorf("a process that is ready hosts %q, %v", hosts, known)
	}
	m.send(protocol.Relayed{Op: protocol.RelayFrame, Stream: stream, Payload: []byte(`{"Action":"CreateGameSession","GameSessionId":"arn:x"}`)})
	hear(t, game, "CreateGameSession")
	again()
	if hosts, _ := told(); hosts != "arn:x" {
		t.Errorf("a process that hosts arn:x is said to host %q", hosts)
	}
}

// A process that could not be brought back at once is brought back on the same link.
func TestRelay_ReconnectsAgain(t *testing.T) {
	t.Parallel()
	m := play(t)
	r := start(t, m)
	var asked atomic.Int32
	r.Admit("p1", "own", func() string {
		if asked.Add(1) == 2 { // when the second link is there
			return ""
		}
		return "t"
	})
	connected(t, r, "p1", "own")
	m.next(protocol.RelayOpen)
	m.cut(r)
	m.leave(false)
	m.next(protocol.RelayOpen)
	if n := asked.Load(); n != 3 {
		t.Errorf("asked %d times for what to show to Muster, want 3", n)
	}
}

// What Muster sends to a process as it accepts it reaches the process, whose WebSocket is accepted
// after that: a process that comes back may have to end.
func TestRelay_PushAtArrival(t *testing.T) {
	t.Parallel()
	m := play(t)
	const push = `{"Action":"TerminateProcess"}`
	m.first = push
	r := start(t, m)
	r.Admit("p1", "token", func() string { return "upstream" })
	ws := connected(t, r, "p1", "token")
	hear(t, ws, push)
	ws.Close()
	m.next(protocol.RelayClose)
	hear(t, connected(t, r, "p1", "token"), push) // once for each time that it is let in
}

// A process that arrives on a link which is replaced before it is there is brought back on the
// next one.
func TestRelay_ArrivesBetweenLinks(t *testing.T) {
	t.Parallel()
	m, r := admitting(t)
	connected(t, r, "p1", "own").Close()
	first := m.next(protocol.RelayOpen)
	if f := m.next(protocol.RelayClose); f.Stream != first.Stream {
		t.Fatalf("stream %d was closed, want %d", f.Stream, first.Stream)
	}
	accepted, replaced := make(chan struct{}), make(chan struct{})
	r.upgrader.CheckOrigin = func(*http.Request) bool { // Muster has accepted it
		close(accepted)
		<-replaced
		return true
	}
	arrived := make(chan *websocket.Conn, 1)
	go func() {
		defer close(arrived)
		ws, status, err := dial(r, "p1", "own")
		if err != nil {
			t.Errorf("not connected: %d %v", status, err)
			return
		}
		arrived <- ws
	}()
	wait.Done(t, "Muster to accept the process", accepted)
	m.cut(r)
	m.leave(false)
	wait.Until(t, "there is a link", func() bool { return r.uplink() != nil })
	r.processes["p1"].reconnect(r.uplink()) // finds nobody
	close(replaced)
	defer wait.Receive(t, "the connection of the process", arrived).Close()
	m.next(protocol.RelayOpen) // on the link that is gone
	m.next(protocol.RelayOpen)
}

// A ProcessEnding sent during an outage is accepted, and reaches Muster after it, although
// the process has closed its connection. Forget reports the call.
func TestRelay_KeepsTheGoodbye(t *testing.T) {
	t.Parallel()
	m, r := admitting(t)
	game := connected(t, r, "p1", "own")
	m.next(protocol.RelayOpen)
	m.cut(r)
	say(t, game, goodbye, "bye")
	hear(t, game, `"RequestId":"bye"`)
	game.Close()
	m.leave(false)
	m.next(protocol.RelayOpen)
	f := m.next(protocol.RelayFrame)
	if !strings.Contains(string(f.Payload), "bye") {
		t.Fatalf("Muster hears %s, want the goodbye", f.Payload)
	}
	m.answer(f)
	next, err := Listen(Options{Dir: r.opts.Dir})
	if err != nil {
		t.Fatal(err)
	}
	defer next.server.Close()
	if !next.Forget("p1") {
		t.Error("the next relay does not say that the process had called ProcessEnding")
	}
	if !r.Forget("p1") {
		t.Error("the relay does not say that the process had called ProcessEnding")
	}
	if r.Forget("p1") || len(r.all()) != 0 {
		t.Errorf("the relay has not forgotten the process: %v", r.all())
	}
	if after, err := Listen(Options{Dir: r.opts.Dir}); err != nil || after.Forget("p1") {
		t.Errorf("a process whose end was reported is kept, %v", err)
	} else {
		after.server.Close()
	}
}

func TestRelay_LetsNobodyElseIn(t *testing.T) {
	t.Parallel()
	m, r := admitting(t)
	r.Admit("p2", "other", func() string { return "t" })
	for _, try := range [][2]string{{"p1", "other"}, {"p1", ""}, {"p3", "own"}} {
		if _, status, err := dial(r, try[0], try[1]); err == nil || status != http.StatusForbidden {
			t.Errorf("%v: status %d, %v; want 403", try, status, err)
		}
	}
	m.mu.Lock()
	m.refuse = true
	m.mu.Unlock()
	wait.Until(t, "there is a link", func() bool { return r.uplink() != nil })
	if _, status, err := dial(r, "p1", "own"); err == nil || status != http.StatusForbidden {
		t.Errorf("refused by Muster: status %d, %v; want 403", status, err)
	}
}

// A process whose token for Muster is not known yet is told to try again, not that it is
// refused.
func TestRelay_AwaitsTheToken(t *testing.T) {
	t.Parallel()
	m := play(t)
	r := start(t, m)
	var token atomic.Value
	token.Store("")
	r.Admit("p1", "own", func() string { return token.Load().(string) })
	wait.Until(t, "there is a link", func() bool { return r.uplink() != nil })
	if _, status, err := dial(r, "p1", "own"); err == nil || status != http.StatusServiceUnavailable {
		t.Errorf("without a token: status %d, %v; want 503", status, err)
	}
	token.Store("t")
	connected(t, r, "p1", "own")
}

// If Muster drops a process, the process sees a broken connection.
func TestRelay_DropsAsMusterDoes(t *testing.T) {
	t.Parallel()
	m, r := admitting(t)
	game := connected(t, r, "p1", "own")
	open := m.next(protocol.RelayOpen) // the drop may overtake the relay's handling of the acceptance
	m.send(protocol.Relayed{Op: protocol.RelayClose, Stream: open.Stream})
	game.SetReadDeadline(time.Now().Add(time.Minute))
	if _, _, err := game.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseAbnormalClosure) {
		t.Errorf("the connection ended with %v, want no close frame", err)
	}
}

// Containers that use the machine's network reach the relay where it listens already.
func TestRelay_AlsoWhereItIs(t *testing.T) {
	t.Parallel()
	r := start(t, play(t))
	w, err := r.Also(netip.MustParseAddr("127.0.0.1"))
	if err != nil || w.URL() != r.URL() {
		t.Errorf("containers are given %s, %v; want %s", w.URL(), err, r.URL())
	}
}
