//go:build unix

package agent

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/agent/link/linktest"
	"github.com/musterhq/muster/certificate"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/ziptest"
)

// muster is the server of an agent, with builds, logs and remote shells.
type muster struct {
	*linktest.Muster
	builds map[string][]byte
	logs   map[string][]byte
	stored []protocol.LogsStored
	tailed []protocol.Tailed
	kept   int                             // acknowledged secrets
	shells map[string]chan *websocket.Conn // the connections of remote shells that were sent
}

// signing is the key with which a muster signs builds.
var signing = ed25519.NewKeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))

func play(t *testing.T) *muster {
	t.Helper()
	m := &muster{Muster: linktest.New(t), builds: map[string][]byte{}, logs: map[string][]byte{}}
	m.Desired, m.BuildKey, m.Heard = &protocol.Assign{}, signing.Public().(ed25519.PublicKey), m.hears
	m.HandleFunc("GET "+protocol.PathBuilds+"{sha}", m.build)
	m.HandleFunc("PUT "+protocol.PathLogs+"{instance}/{process}", m.log)
	m.HandleFunc("GET "+protocol.PathShells+"{id}", m.shell)
	m.HandleFunc("POST "+protocol.PathCertificates+"{instance}", m.certificate)
	return m
}

func (m *muster) build(w http.ResponseWriter, r *http.Request) {
	if !m.Allowed(w, r) {
		return
	}
	m.Mu.Lock()
	content := m.builds[r.PathValue("sha")]
	m.Mu.Unlock()
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

func (m *muster) log(w http.ResponseWriter, r *http.Request) {
	if !m.Allowed(w, r) {
		return
	}
	content, _ := io.ReadAll(r.Body)
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.logs[r.PathValue("process")] = content
	w.WriteHeader(http.StatusNoContent)
}

// certificate signs a certificate for 192.0.2.1.
func (m *muster) certificate(w http.ResponseWriter, r *http.Request) {
	if !m.Allowed(w, r) {
		return
	}
	var in protocol.CertificateRequest
	err := json.NewDecoder(r.Body).Decode(&in)
	var out protocol.CertificateResponse
	if err == nil {
		out, err = linktest.Certify(in, certificate.Names{IPs: []netip.Addr{netip.MustParseAddr("192.0.2.1")}})
	}
	if err != nil {
		m.Error(err)
	}
	json.NewEncoder(w).Encode(out)
}

// hears records what the server itself does not.
func (m *muster) hears(msg protocol.Message) {
	switch {
	case msg.Status != nil:
		m.explained(*msg.Status)
	case msg.SecretKept != nil:
		m.kept++
	case msg.Tailed != nil:
		m.tailed = append(m.tailed, *msg.Tailed)
	case msg.LogsStored != nil:
		m.stored = append(m.stored, *msg.LogsStored)
	}
}

// explained checks that the end of each process that a status no longer lists has been
// reported: otherwise Muster would count it as crashed. The caller must hold m.Mu.
func (m *muster) explained(now protocol.Status) {
	runs := map[string]bool{}
	for _, i := range now.Instances {
		for _, p := range i.Processes {
			runs[p.ProcessID] = true
		}
	}
	for _, i := range m.Status.Instances {
		for _, p := range i.Processes {
			if !runs[p.ProcessID] && !slices.ContainsFunc(m.Exits, func(e protocol.Exited) bool { return e.ProcessID == p.ProcessID }) {
				m.Errorf("the agent lists process %s no more and has not reported its end", p.ProcessID)
			}
		}
	}
}

// running waits until an instance has n processes, and returns them.
func (m *muster) running(id string, n int) []protocol.Process {
	m.Helper()
	var list []protocol.Process
	m.Until("the processes run", func() bool {
		list = m.Instance(id).Processes
		return len(list) == n
	})
	return list
}

// offer creates a build of executable files.
func (m *muster) offer(files map[string]string) protocol.Build {
	m.Helper()
	content := ziptest.Make(m, files)
	sum := sha256.Sum256(content)
	b := protocol.Build{ID: "build-1", SHA256: hex.EncodeToString(sum[:]), Size: int64(len(content)), Format: "zip"}.Sign(signing)
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.builds[b.SHA256] = content
	return b
}

// agentUnderTest is an agent and a function that stops it.
type agentUnderTest struct {
	*Agent
	stop func()
}

// start runs an agent in a folder until the test or stop ends it.
func (m *muster) start(root string, change func(*Options)) agentUnderTest {
	m.Helper()
	o := Options{
		Server: m.URL, Token: "token", Root: root, StopGrace: time.Second, retryAfter: 10 * time.Millisecond, UserClaims: root + "-claims",
		Log: slog.New(slog.NewTextHandler(testLog{m}, &slog.HandlerOptions{Level: slog.LevelInfo})),
	}
	if change != nil {
		change(&o)
	}
	a, err := New(o)
	if err != nil {
		m.Fatal(err)
	}
	ctx, cancel := contextOf(m)
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	var once sync.Once
	stop := func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				m.Errorf("the agent ended: %v", err)
			}
		})
	}
	m.Cleanup(stop)
	return agentUnderTest{a, stop}
}

type testLog struct{ t testing.TB }

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
	m.Mu.Lock()
	to := m.shells[r.PathValue("id")]
	m.Mu.Unlock()
	if to == nil || !m.Allowed(w, r) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err == nil {
		to <- ws
	}
}
