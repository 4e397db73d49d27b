package legacy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/internal/wait"
)

// far is the other end of a process's connection to Muster: it records requests, answers
// them as it is told, and pushes.
type far struct {
	t      *testing.T
	server *httptest.Server

	mu     sync.Mutex
	refuse map[string]int // status by action
	silent bool           // answers nothing
	asked  []string
	heard  chan struct{} // closed and replaced at each request and connection
	ws     *websocket.Conn
}

func newFar(t *testing.T) *far {
	t.Helper()
	f := &far{t: t, refuse: map[string]int{}, heard: make(chan struct{})}
	f.server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.server.Close)
	return f
}

func (f *far) endpoint() (string, string, error) {
	return strings.Replace(f.server.URL, "http", "ws", 1), "token", nil
}

func (f *far) note(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, what)
	close(f.heard)
	f.heard = make(chan struct{})
}

func (f *far) serve(w http.ResponseWriter, r *http.Request) {
	u := websocket.Upgrader{}
	ws, err := u.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer ws.Close()
	f.mu.Lock()
	f.ws = ws
	f.mu.Unlock()
	q := r.URL.Query()
	f.note("connect " + q.Get("pID") + " " + q.Get("sdkLanguage") + " " + q.Get("sdkVersion"))
	for {
		_, frame, err := ws.ReadMessage()
		if err != nil {
			return
		}
		var head struct{ Action, RequestID string }
		var all map[string]any
		if json.Unmarshal(frame, &all) != nil {
			f.t.Errorf("no JSON: %s", frame)
			return
		}
		head.Action, _ = all["Action"].(string)
		head.RequestID, _ = all["RequestId"].(string)
		f.note(head.Action)
		f.mu.Lock()
		status, silent := f.refuse[head.Action], f.silent
		f.mu.Unlock()
		if silent {
			continue
		}
		if status == 0 {
			status = 200
		}
		f.send(map[string]any{"Action": head.Action, "RequestId": head.RequestID, "StatusCode": status, "ErrorMessage": "no"})
	}
}

func (f *far) send(v any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.ws.WriteJSON(v); err != nil {
		f.t.Error(err)
	}
}

// await waits for a request or a connection.
func (f *far) await(what string) {
	f.t.Helper()
	late := time.NewTimer(wait.Patience())
	defer late.Stop()
	for {
		f.mu.Lock()
		heard, all := f.heard, strings.Join(f.asked, "\n")
		f.mu.Unlock()
		if strings.Contains(all, what) {
			return
		}
		select {
		case <-heard:
		case <-late.C:
			f.t.Fatalf("there was no %q among:\n%s", what, all)
		}
	}
}

func open(t *testing.T, p Ports) *Server {
	t.Helper()
	s := Open(Options{Ports: p, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(s.Close)
	return s
}

// ours is a process whose connections this test makes.
func ours(f *far, state string) Admission {
	return Admission{FleetID: "fleet-1", HostID: "host-1", ProcessID: "a", PID: os.Getpid(), State: state, Endpoint: f.endpoint}
}

// dial connects as C++ does; header and query are added.
func dial(t *testing.T, s *Server, query string, header http.Header) (*websocket.Conn, error) {
	t.Helper()
	ws, res, err := websocket.DefaultDialer.Dial(fmt.Sprintf("ws://127.0.0.1:%d/socket.io/?EIO=4&transport=websocket&%s&sdkLanguage=Cpp&sdkVersion=3.4.2", s.At().SocketIO, query), header)
	if err != nil {
		if res != nil {
			err = errors.Join(err, errors.New(res.Status))
		}
		return nil, err
	}
	t.Cleanup(func() { ws.Close() })
	return ws, nil
}

// expect reads frames until one begins with a text.
func expect(t *testing.T, ws *websocket.Conn, beginning string) string {
	t.Helper()
	ws.SetReadDeadline(time.Now().Add(time.Minute))
	for {
		_, frame, err := ws.ReadMessage()
		if err != nil {
			t.Fatalf("waiting for %q: %v", beginning, err)
		}
		if strings.HasPrefix(string(frame), beginning) {
			return string(frame)
		}
	}
}

func send(t *testing.T, ws *websocket.Conn, id int, name string, body []byte) {
	t.Helper()
	text := fmt.Sprintf(`451-%d["com.amazon.whitewater.auxproxy.pbuffer.%s",{"_placeholder":true,"num":0}]`, id, name)
	if err := errors.Join(ws.WriteMessage(websocket.TextMessage, []byte(text)), ws.WriteMessage(websocket.BinaryMessage, append([]byte{4}, body...))); err != nil {
		t.Fatal(err)
	}
}

const claimed = "pID=1"

var nowhere = netip.MustParseAddrPort("127.0.0.1:1")

// A process keeps its game session at the next agent, which connects it anew to Muster, and
// the process at its own pace.
func TestServer_NextAgent(t *testing.T) {
	t.Parallel()
	f, state := newFar(t), filepath.Join(t.TempDir(), "state")
	first := open(t, Ports{})
	first.Admit(ours(f, state))
	ws, err := dial(t, first, claimed, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := expect(t, ws, "0"); !strings.Contains(got, `"upgrades":[],"pingInterval":25000,"pingTimeout":60000}`) {
		t.Errorf("the first frame is %s", got)
	}
	expect(t, ws, "40")
	f.await("connect a Cpp 3.4.2")
	send(t, ws, 1, "ProcessReady", []byte{0x10, 0xE1, 0x3C})
	if got := expect(t, ws, "431["); got != `431[true,"{\"status\":\"OK\"}"]` {
		t.Errorf("ProcessReady is answered by %s", got)
	}
	f.send(map[string]any{"Action": "CreateGameSession", "GameSessionId": "arn:s", "MaximumPlayerSessionCount": 4})
	push := expect(t, ws, "42")
	id := push[2:strings.IndexByte(push, '[')]
	ws.WriteMessage(websocket.TextMessage, []byte("43"+id+"[true]"))

	// A request that is not answered yet is answered when the agent ends.
	f.mu.Lock()
	f.silent = true
	f.mu.Unlock()
	send(t, ws, 2, "GameSessionActivate", []byte("\x0a\x05arn:s"))
	f.await("ActivateGameSession")
	go first.Close()
	if got := expect(t, ws, "432["); !strings.HasPrefix(got, `432[false,"{\"status\":\"ERROR_500\"`) {
		t.Errorf("at the end of the agent the request is answered by %s", got)
	}
	_, _, err = ws.ReadMessage()
	if websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		t.Error("the connection is closed as if it had ended well: C++ never comes back")
	}
	f.mu.Lock()
	f.silent, f.asked = false, nil
	f.mu.Unlock()
	second := open(t, Ports{})
	second.Admit(ours(f, state))
	f.await("connect a Cpp 3.4.2") // before the process is back
	if ws, err = dial(t, second, claimed, nil); err != nil {
		t.Fatal(err)
	}
	expect(t, ws, "40")
	send(t, ws, 3, "GameSessionActivate", nil) // of its own game session
	if got := expect(t, ws, "433["); !strings.HasPrefix(got, "433[true") {
		t.Errorf("the next agent answers %s", got)
	}
	send(t, ws, 4, "ProcessEnding", nil)
	expect(t, ws, "434[true")
	if !second.Forget("a") {
		t.Error("the next agent does not know that the process has called ProcessEnding")
	}
}

// Only descendants of the process that was started speak for it, and no web page does.
func TestServer_Refuses(t *testing.T) {
	t.Parallel()
	f, s := newFar(t), open(t, Ports{})
	s.Admit(Admission{FleetID: "fleet-1", HostID: "host-1", ProcessID: "other", PID: 1 << 30, Endpoint: f.endpoint})
	if _, known := ownersOf(nowhere, nowhere, 0); known {
		if _, err := dial(t, s, fmt.Sprintf("pID=%d", 1<<30), nil); err == nil {
			t.Error("a program that claims the process id of another one is accepted")
		}
	}
	s.Admit(ours(f, ""))
	for _, c := range []struct {
		name, query string
		header      http.Header
		status      string
	}{
		{"no process id", "t=1", nil, "400"},
		{"a wrong process id", "pID=game", nil, "400"},
		{"a web page", claimed, http.Header{"Origin": {"http://game.example"}}, "403"},
		{"a page of this machine", claimed, http.Header{"Origin": {"http://127.0.0.1"}}, "403"},
		{"a name that leads here", claimed, http.Header{"Host": {"game.example"}}, "403"},
	} {
		if _, err := dial(t, s, c.query, c.header); err == nil || !strings.Contains(err.Error(), c.status) {
			t.Errorf("%s: %v, want %s", c.name, err, c.status)
		}
	}
	post := func(pid, target string, body []byte) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), "POST", fmt.Sprintf("http://127.0.0.1:%d/", s.At().HTTP), bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("gamelift-server-pid", pid)
		r.Header.Set("gamelift-target", target)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	for _, c := range []struct {
		name, pid, target, body string
		status                  int
	}{
		{"no process id", "", "ReportHealth", "", 400},
		{"an unknown target", "1", "TerminateGameSession", "", 400},
		{"a message that is none", "1", "ProcessReady", "\xff", 400},
		{"before InitSDK", "1", "GameSessionActivate", "", 400},
		{"health, whenever", "1", "ReportHealth", "\x08\x01", 200},
	} {
		if status, text := post(c.pid, c.target, []byte(c.body)); status != c.status {
			t.Errorf("%s: %d %s, want %d", c.name, status, text, c.status)
		}
	}
}

// Ports that are taken are named with the remedy, and are opened once they are free.
func TestOpen_PortsTaken(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	s := open(t, Ports{WebSocket: port})
	if why := s.Why(); !strings.Contains(why, fmt.Sprintf("port %d of this machine", port)) || !strings.Contains(why, fmt.Sprintf("%s (process %d)", filepath.Base(os.Args[0]), os.Getpid())) && runtime.GOOS == "linux" ||
		!strings.Contains(why, "or end it") || s.At() != (Ports{}) {
		t.Errorf("the reason is %q, and %v are open", why, s.At())
	}
	taken.Close()
	wait.Done(t, "the ports to be opened", s.opened)
	if s.Why() != "" || s.At().WebSocket != port {
		t.Errorf("%v are open", s.At())
	}
}

// A push goes to the connection that carries no request, in whatever order they were made,
// and is repeated only where the process says that it was not ready.
func TestPush_Connection(t *testing.T) {
	t.Parallel()
	f, s := newFar(t), open(t, Ports{})
	s.Admit(ours(f, ""))
	var both [2]*websocket.Conn
	for n := range both {
		var err error
		if both[n], err = dial(t, s, claimed, nil); err != nil {
			t.Fatal(err)
		}
		expect(t, both[n], "40")
	}
	f.await("connect a")
	to, from := both[1], both[0] // as Node may
	send(t, to, 0, "ProcessReady", nil)
	expect(t, to, "430[true")
	f.send(map[string]any{"Action": "CreateGameSession", "GameSessionId": "arn:s"})
	for n, answer := range []string{"false", "", "true"} {
		push := expect(t, from, "42")
		if !strings.Contains(push, `["StartGameSession","{\"gameSession\":{\"gameSessionId\":\"arn:s\"`) {
			t.Errorf("push %d is %s", n, push)
		}
		from.WriteMessage(websocket.TextMessage, []byte("43"+push[2:strings.IndexByte(push, '[')]+"["+answer+"]"))
	}
	f.send(map[string]any{"Action": "TerminateProcess", "TerminationTime": 1_700_000_000_999})
	if got := expect(t, from, "42"); got != `42["TerminateProcess","{\"terminationTime\":1700000000}"]` {
		t.Errorf("after acceptance comes %s", got)
	}
	if err := to.WriteMessage(websocket.TextMessage, []byte("2probe")); err != nil {
		t.Fatal(err)
	}
	if got := expect(t, to, "3"); got != "3probe" {
		t.Errorf("a ping is answered by %s", got)
	}
	s.Forget("a")
	if _, _, err := to.ReadMessage(); err == nil {
		t.Error("the connections of a process that has exited stay")
	}
}
