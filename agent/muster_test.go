//go:build unix

package agent

import (
	"archive/zip"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wait"
)

// muster is a fake Muster: it speaks the agents' protocol and records what agents send.
type muster struct {
	t      *testing.T
	server *httptest.Server

	mu      sync.Mutex
	change  chan struct{} // closed and replaced at each change
	builds  map[string][]byte
	logs    map[string][]byte
	desired protocol.Assign
	socket  *websocket.Conn
	status  protocol.Status
	exits   []protocol.Exited
	stored  []protocol.LogsStored
	tailed  []protocol.Tailed
	hellos  int
	joins   int
	deaf    bool // does not acknowledge
	refuses bool // accepts no link
	secret  string
	kept    int                             // acknowledged secrets
	removed bool                            // the host was removed
	older   bool                            // signs no builds
	shells  map[string]chan *websocket.Conn // the connections of remote shells that were sent
}

// signing is the key with which a muster signs builds.
var signing = ed25519.NewKeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))

func (m *muster) buildKey() ed25519.PublicKey {
	if m.older {
		return nil
	}
	return signing.Public().(ed25519.PublicKey)
}

func play(t *testing.T) *muster {
	t.Helper()
	m := &muster{t: t, change: make(chan struct{}), builds: map[string][]byte{}, logs: map[string][]byte{}, secret: "secret"}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+protocol.PathJoin, m.join)
	mux.HandleFunc("GET "+protocol.PathHost, m.host)
	mux.HandleFunc("GET "+protocol.PathBuilds+"{sha}", m.build)
	mux.HandleFunc("PUT "+protocol.PathLogs+"{instance}/{process}", m.log)
	mux.HandleFunc("GET "+protocol.PathShells+"{id}", m.shell)
	mux.HandleFunc("POST "+protocol.PathCertificates+"{instance}", m.certificate)
	m.server = httptest.NewServer(mux)
	t.Cleanup(func() {
		m.cut()
		m.server.Close()
	})
	return m
}

func (m *muster) changed() {
	close(m.change)
	m.change = make(chan struct{})
}

func (m *muster) join(w http.ResponseWriter, r *http.Request) {
	var in protocol.JoinRequest
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Token != "token" {
		w.WriteHeader(http.StatusForbidden)
		json.NewEncoder(w).Encode(protocol.Refusal{Message: "the token is not known"})
		return
	}
	m.mu.Lock()
	m.joins++
	m.mu.Unlock()
	json.NewEncoder(w).Encode(protocol.JoinResponse{HostID: "host-1", Secret: "secret", Location: "here", BuildKey: m.buildKey()})
}

func (m *muster) allowed(w http.ResponseWriter, r *http.Request) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.removed:
		w.WriteHeader(http.StatusGone)
		return false
	case r.Header.Get("Authorization") == "Bearer host-1."+m.secret:
		return true
	}
	w.WriteHeader(http.StatusUnauthorized)
	return false
}

func (m *muster) build(w http.ResponseWriter, r *http.Request) {
	if !m.allowed(w, r) {
		return
	}
	m.mu.Lock()
	content := m.builds[r.PathValue("sha")]
	m.mu.Unlock()
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

func (m *muster) log(w http.ResponseWriter, r *http.Request) {
	if !m.allowed(w, r) {
		return
	}
	content, _ := io.ReadAll(r.Body)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.logs[r.PathValue("process")] = content
	w.WriteHeader(http.StatusNoContent)
}

func (m *muster) host(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	refuses := m.refuses
	m.mu.Unlock()
	if refuses {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if !m.allowed(w, r) {
		return
	}
	ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	m.mu.Lock()
	m.socket = ws
	m.say(protocol.Message{Assign: &m.desired})
	m.mu.Unlock()
	for {
		_, frame, err := ws.ReadMessage()
		if err != nil {
			return
		}
		msg, err := protocol.Decode(frame)
		if err != nil {
			m.t.Errorf("the agent sent %s: %v", frame, err)
			return
		}
		m.hear(msg)
	}
}

func (m *muster) hear(msg protocol.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.changed()
	switch {
	case msg.Hello != nil:
		m.hellos++
	case msg.Status != nil:
		m.explained(*msg.Status)
		m.status = *msg.Status
	case msg.Exited != nil:
		m.exits = append(m.exits, *msg.Exited)
		if !m.deaf {
			m.say(protocol.Message{Ack: &protocol.Ack{Seq: msg.Exited.Seq}})
		}
	case msg.SecretKept != nil:
		m.kept++
	case msg.Tailed != nil:
		m.tailed = append(m.tailed, *msg.Tailed)
	case msg.LogsStored != nil:
		m.stored = append(m.stored, *msg.LogsStored)
	}
}

// explained checks that the end of each process that a status no longer lists has been
// reported: otherwise Muster would count it as crashed. The caller must hold m.mu.
func (m *muster) explained(now protocol.Status) {
	runs := map[string]bool{}
	for _, i := range now.Instances {
		for _, p := range i.Processes {
			runs[p.ProcessID] = true
		}
	}
	for _, i := range m.status.Instances {
		for _, p := range i.Processes {
			if !runs[p.ProcessID] && !slices.ContainsFunc(m.exits, func(e protocol.Exited) bool { return e.ProcessID == p.ProcessID }) {
				m.t.Errorf("the agent lists process %s no more and has not reported its end", p.ProcessID)
			}
		}
	}
}

// say sends a message; the caller must hold m.mu.
func (m *muster) say(msg protocol.Message) {
	frame, err := protocol.Encode(msg)
	if err != nil {
		m.t.Error(err)
		return
	}
	if m.socket != nil {
		m.socket.WriteMessage(websocket.TextMessage, frame)
	}
}

func (m *muster) send(msg protocol.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.say(msg)
}

// assign changes the desired state and sends it.
func (m *muster) assign(all ...protocol.Desired) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.desired = protocol.Assign{Instances: all, BuildKey: m.buildKey()}
	m.say(protocol.Message{Assign: &m.desired})
}

// cut drops the link.
func (m *muster) cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.socket != nil {
		m.socket.NetConn().Close()
	}
}

// goAway ends the link as a server does that stops.
func (m *muster) goAway() {
	m.mu.Lock()
	defer m.mu.Unlock()
	bye := websocket.FormatCloseMessage(websocket.CloseGoingAway, "this Muster server stops")
	if err := m.socket.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Minute)); err != nil {
		m.t.Error(err)
	}
	m.socket.Close()
}

// until waits until a condition on what the agent has sent holds.
func (m *muster) until(what string, holds func() bool) {
	m.t.Helper()
	late := time.After(wait.Patience())
	for {
		m.mu.Lock()
		if holds() {
			m.mu.Unlock()
			return
		}
		change, status, exits := m.change, m.status, m.exits
		m.mu.Unlock()
		select {
		case <-change:
		case <-late:
			m.t.Fatalf("waited in vain until %s; the last status was %+v, the exits %+v", what, status, exits)
		}
	}
}

func (m *muster) instance(id string) (in protocol.Instance) {
	for _, i := range m.status.Instances {
		if i.InstanceID == id {
			return i
		}
	}
	return in
}

// running waits until an instance has n processes, and returns them.
func (m *muster) running(id string, n int) []protocol.Process {
	m.t.Helper()
	var list []protocol.Process
	m.until("the processes run", func() bool {
		list = m.instance(id).Processes
		return len(list) == n
	})
	return list
}

// offer creates a build of executable files.
func (m *muster) offer(files map[string]string) protocol.Build {
	m.t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for name, content := range files {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(0o755)
		w, err := z.CreateHeader(h)
		if err != nil {
			m.t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			m.t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		m.t.Fatal(err)
	}
	sum := sha256.Sum256(buf.Bytes())
	b := protocol.Build{ID: "build-1", SHA256: hex.EncodeToString(sum[:]), Size: int64(buf.Len()), Format: "zip"}.Sign(signing)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.builds[b.SHA256] = buf.Bytes()
	return b
}

// agentUnderTest is an agent and a function that stops it.
type agentUnderTest struct {
	*Agent
	stop func()
}

// start runs an agent in a folder until the test or stop ends it.
func (m *muster) start(root string, change func(*Options)) agentUnderTest {
	m.t.Helper()
	o := Options{
		Server: m.server.URL, Token: "token", Root: root, StopGrace: time.Second, retryAfter: 10 * time.Millisecond, UserClaims: root + "-claims",
		Log: slog.New(slog.NewTextHandler(testLog{m.t}, &slog.HandlerOptions{Level: slog.LevelInfo})),
	}
	if change != nil {
		change(&o)
	}
	a, err := New(o)
	if err != nil {
		m.t.Fatal(err)
	}
	ctx, cancel := contextOf(m.t)
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	var once sync.Once
	stop := func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				m.t.Errorf("the agent ended: %v", err)
			}
		})
	}
	m.t.Cleanup(stop)
	return agentUnderTest{a, stop}
}

type testLog struct{ t *testing.T }

func (l testLog) Write(line []byte) (int, error) {
	if os.Getenv("MUSTER_TEST_LOG") != "" {
		l.t.Log(strings.TrimSpace(string(line)))
	}
	return len(line), nil
}

// want returns the desired state of an instance with the given processes.
func want(t *testing.T, id string, b protocol.Build, processes ...protocol.ServerProcess) protocol.Desired {
	t.Helper()
	from := freePorts(t)
	return protocol.Desired{
		InstanceID: id, FleetID: "fleet-1", FleetARN: "arn:aws:gamelift:us-east-1:000000000000:fleet/fleet-1",
		Compute: id, Location: "here", Build: b, Runtime: protocol.Runtime{Processes: processes},
		PortFrom: from, PortTo: from + 20, SDKURL: "ws://127.0.0.1:1/", AuthToken: "compute-token", Region: "us-east-1",
	}
}

// freePorts returns the first of a few ports that are likely to be free.
func freePorts(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return min(l.Addr().(*net.TCPAddr).Port, 60000-30)
}

func root(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "agent")
}

// shell accepts the agent's connection for a remote shell.
func (m *muster) shell(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	to := m.shells[r.PathValue("id")]
	m.mu.Unlock()
	if to == nil || !m.allowed(w, r) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err == nil {
		to <- ws
	}
}
