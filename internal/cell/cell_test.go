package cell_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/internal/cell"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/wait"
)

// Durations of leases: tests wait for the end of short ones; long ones never end.
const (
	short = 4 * time.Second
	long  = time.Hour
)

// node is one member, whose handler answers with its name and the request.
type node struct {
	*testing.T
	keeper *cell.Keeper
	gate   *cell.Gate
	server *httptest.Server
	name   string
	asked  chan struct{} // receives a value when a request arrives
	closed bool
}

// join starts a node that serves once it owns the cell.
func join(t *testing.T, url, name string, change ...func(*cell.Options)) *node {
	t.Helper()
	n := enter(t, url, name, change...)
	go func() {
		<-n.keeper.Owned()
		n.gate.Own(http.HandlerFunc(n.answer))
	}()
	return n
}

// enter starts a node that does not serve even if it owns the cell, like one that is
// reading its state.
func enter(t *testing.T, url, name string, change ...func(*cell.Options)) *node {
	t.Helper()
	n := &node{T: t, name: name, asked: make(chan struct{}, 1)}
	ready := make(chan struct{})
	n.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-ready
		n.gate.ServeHTTP(w, r)
		select {
		case n.asked <- struct{}{}:
		default:
		}
	}))
	n.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	n.server.StartTLS()
	o := cell.Options{
		URL: url, Cell: "c", Secret: []byte("secret"), TTL: short,
		Node: cell.Node{
			Name: name, Address: n.server.Listener.Addr().String(),
			Certificate: cell.Fingerprint(n.server.Certificate().Raw),
		},
	}
	for _, f := range change {
		f(&o)
	}
	var err error
	if n.keeper, err = cell.Open(t.Context(), o); err != nil {
		n.server.Close()
		t.Fatal(err)
	}
	n.gate = cell.NewGate(n.keeper)
	close(ready)
	t.Cleanup(n.leave)
	return n
}

// answer describes the request, echoes over a WebSocket, or starts an endless answer, or one
// that is cut short.
func (n *node) answer(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/stream" {
		io.WriteString(w, n.name)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return
	}
	if r.URL.Path == "/cut" {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
		return
	}
	if websocket.IsWebSocketUpgrade(r) {
		up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
		ws, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer ws.Close()
		for {
			kind, frame, err := ws.ReadMessage()
			if err != nil || ws.WriteMessage(kind, append([]byte(n.name+" "), frame...)) != nil {
				return
			}
		}
	}
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %s %s host=%s agent=%s for=%s encoding=%s client=%v\n%s", n.name, r.Method, r.URL.RequestURI(), r.Header.Get("X-Amz-Target"),
		r.Host, r.UserAgent(), r.Header.Get("X-Forwarded-For"), r.Header.Get("Accept-Encoding"), strings.HasPrefix(r.RemoteAddr, "127.0.0.1:"), body)
}

// leave stops the node in order.
func (n *node) leave() {
	if n.closed {
		return
	}
	n.closed = true
	n.gate.Close()
	if err := n.server.Config.Shutdown(context.Background()); err != nil {
		n.Error(err)
	}
	if err := n.keeper.Close(context.Background()); err != nil {
		n.Error(err)
	}
	n.server.Close()
}

// ask sends the node a request whose every part a signature would cover.
func (n *node) ask(change ...func(*http.Request)) (int, string) {
	n.Helper()
	r, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, n.server.URL+"/a/../b//c?x=1;y=%41&z", strings.NewReader("the body"))
	r.Host = "muster.example:99"
	r.Header.Set("X-Amz-Target", "GameLift.ListFleets")
	r.Header.Set("User-Agent", "aws")
	r.Header.Set("X-Forwarded-For", "192.0.2.1")
	for _, f := range change {
		f(r)
	}
	response, err := n.server.Client().Do(r)
	if err != nil {
		n.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		n.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func (n *node) owns() bool {
	select {
	case <-n.keeper.Owned():
		return true
	default:
		return false
	}
}

// lasting sets a lease that does not end during a test: the cell changes
// owner only when the lease is given back.
func lasting(o *cell.Options) { o.TTL = long }

// TestCell runs through the life of a cell of three nodes.
func TestCell(t *testing.T) {
	url := pgtest.URL(t)
	first, second := join(t, url, "first", lasting), join(t, url, "second", lasting)
	third := join(t, url, "third", lasting)
	if !first.owns() || second.owns() || third.owns() {
		t.Fatal("the first node owns the cell, and it alone")
	}

	t.Run("a request arrives as it was sent", func(t *testing.T) {
		_, direct := first.ask()
		if status, through := second.ask(); status != 200 || through != direct {
			t.Errorf("through another node: %d %s, directly: %s", status, through, direct)
		}
		if want := `first POST /a/../b//c?x=1;y=%41&z GameLift.ListFleets host=muster.example:99 agent=aws for=192.0.2.1`; !strings.HasPrefix(direct, want) {
			t.Errorf("got %s", direct)
		}
	})
	t.Run("nobody else says who the client is", func(t *testing.T) {
		for _, value := range []string{"x", "00 198.51.100.1:1", strings.Repeat("0", 64) + " 198.51.100.1:1"} {
			if _, got := first.ask(func(r *http.Request) { r.Header.Set("Muster-Forwarded-For", value) }); !strings.Contains(got, "client=true") {
				t.Errorf("%q was believed: %s", value, got)
			}
		}
	})
	t.Run("WebSocket", func(t *testing.T) {
		ws := second.websocket()
		if got := echo(t, ws, "hello"); got != "first hello" {
			t.Errorf("got %q", got)
		}
	})
	// Nothing of a short answer is sent before the owner has sent it whole, so a client without an
	// answer knows to ask again.
	t.Run("an answer cut short", func(t *testing.T) {
		response, err := second.server.Client().Get(second.server.URL + "/cut")
		if err == nil {
			response.Body.Close()
			t.Errorf("the answer begins with %s", response.Status)
		}
	})
	t.Run("given back", func(t *testing.T) {
		ws := third.websocket()
		echo(t, ws, "before")
		asking, enough := context.WithCancel(t.Context())
		asked := make(chan int)
		go func() {
			n := 0
			for ; asking.Err() == nil; n++ {
				third.served()
			}
			asked <- n
		}()
		first.leave()
		body := second.served()
		enough()
		t.Logf("%d requests while the cell was handed over", <-asked)
		if !strings.HasPrefix(body, "second ") && !strings.HasPrefix(body, "third ") {
			t.Errorf("served after the owner left: %s", body)
		}
		if _, _, err := ws.ReadMessage(); err == nil || websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway) {
			t.Errorf("a WebSocket to the node before ended with %v; it must break", err)
		}
	})
}

// served repeats the request until an owner answers, as clients do: a request in
// flight to an owner that leaves is refused, once, since it may have been executed.
func (n *node) served() string {
	n.Helper()
	for {
		switch status, body := n.ask(); {
		case status == 200 && strings.HasSuffix(body, "\nthe body"):
			return body
		case status == 503 && strings.Contains(body, "InternalServiceException"):
		default:
			n.Errorf("answered %d %s", status, body)
			return body
		}
	}
}

// TestCell_Silence: an owner that does not renew in time loses the cell.
func TestCell_Silence(t *testing.T) {
	url := pgtest.URL(t)
	owner, other := join(t, url, "owner"), join(t, url, "other")
	silence(t, url)
	for what, done := range map[string]<-chan struct{}{"sees that it lost": owner.keeper.Lost(), "takes": other.keeper.Owned()} {
		wait.Done(t, "a node that "+what+" the cell", done)
	}
	for _, n := range []*node{other, owner} {
		if body := n.served(); !strings.HasPrefix(body, "other ") {
			t.Errorf("asking %s: %s", n.name, body)
		}
	}
	if owner.keeper.Holds() {
		t.Error("the owner believes that it still has the cell")
	}
}

// silence makes the lease look as if its owner had not renewed it for long.
func silence(t *testing.T, url string) {
	t.Helper()
	// One statement, so that the owner cannot renew in between, like another node
	// taking it.
	pgtest.Execute(t, url, `UPDATE "muster"."lease" SET "until" = '-infinity', "epoch" = "epoch" + 1`)
}

func (n *node) websocket() *websocket.Conn {
	n.Helper()
	dialer := websocket.Dialer{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	ws, _, err := dialer.DialContext(n.Context(), "wss"+strings.TrimPrefix(n.server.URL, "https")+"/game", nil)
	if err != nil {
		n.Fatal(err)
	}
	n.Cleanup(func() { ws.Close() })
	return ws
}

func echo(t *testing.T, ws *websocket.Conn, text string) string {
	t.Helper()
	if err := ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		t.Fatal(err)
	}
	_, frame, err := ws.ReadMessage()
	if err != nil {
		t.Fatal(err)
	}
	return string(frame)
}

// TestCell_BodyOfHeldRequest: a request that an owner did not accept is answered by
// the node that held it, once that node has the cell, with its whole body.
func TestCell_BodyOfHeldRequest(t *testing.T) {
	url := pgtest.URL(t)
	owner := enter(t, url, "owner", lasting)
	standby := join(t, url, "standby", lasting)
	type answer struct {
		status int
		body   string
	}
	got := make(chan answer, 1)
	go func() {
		status, body := standby.ask()
		got <- answer{status, body}
	}()
	<-owner.asked
	owner.leave()
	if a := <-got; a.status != 200 || !strings.HasPrefix(a.body, "standby ") || !strings.HasSuffix(a.body, "\nthe body") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestCell_StandbyStops: a standby stops even while streams pass through it.
func TestCell_StandbyStops(t *testing.T) {
	url := pgtest.URL(t)
	owner, standby := join(t, url, "owner", lasting), join(t, url, "standby", lasting)
	response, err := standby.server.Client().Get(standby.server.URL + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	name := make([]byte, len(owner.name))
	if _, err := io.ReadFull(response.Body, name); err != nil || string(name) != owner.name {
		t.Fatalf("the stream begins with %q, %v", name, err)
	}
	standby.leave()
	if rest, err := io.ReadAll(response.Body); err == nil || len(rest) > 0 {
		t.Errorf("the stream ended with %q as if it was whole", rest)
	}
}

// TestCell_Refusals: what keeps a node out, and what it does not forward.
func TestCell_Refusals(t *testing.T) {
	url := pgtest.URL(t)
	t.Run("another secret", func(t *testing.T) {
		join(t, url, "owner")
		_, err := cell.Open(t.Context(), cell.Options{URL: url, Cell: "c", Secret: []byte("other"), Node: cell.Node{Name: "stranger"}})
		if err == nil || !strings.Contains(err.Error(), "master key") {
			t.Errorf("a node with another key: %v", err)
		}
	})
	t.Run("another certificate", func(t *testing.T) {
		join(t, url, "owner", func(o *cell.Options) { o.Node.Certificate = "00" })
		standby := join(t, url, "standby")
		if status, body := standby.ask(); status != 503 || !strings.Contains(body, "InternalServiceException") {
			t.Errorf("forwarded to who is not the owner: %d %s", status, body)
		}
	})
	t.Run("restarted", func(t *testing.T) {
		join(t, url, "owner")
		begun := time.Now()
		if again := join(t, url, "owner"); !again.owns() {
			t.Errorf("a node has to wait for the lease of its own last life, %s", time.Since(begun))
		}
	})
	t.Run("lease too short", func(t *testing.T) {
		if _, err := cell.Open(t.Context(), cell.Options{URL: url, Cell: "d", TTL: time.Millisecond}); err == nil {
			t.Error("was accepted")
		}
	})
}
