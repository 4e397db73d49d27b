package cluster_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/hosts/protocol"
)

// muster is a script of what Muster does on the agents' link: it records what the agent
// sends.
type muster struct {
	t      testing.TB
	server *httptest.Server
	wide   sync.Mutex // held while a frame is written, and before that while the desired state is read

	mu      sync.Mutex
	change  chan struct{} // closed and replaced at each change
	desired *protocol.Assign
	socket  *websocket.Conn
	status  *protocol.Status
	hello   protocol.Hello
	hellos  int
	early   string // id of a process that was reported before it began
	exits   []protocol.Exited
	links   int
	joins   int
	deaf    bool // does not acknowledge
	removed bool
}

func play(t testing.TB) *muster {
	m := &muster{t: t, change: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+protocol.PathJoin, m.join)
	mux.HandleFunc("GET "+protocol.PathHost, m.host)
	m.server = httptest.NewServer(mux)
	t.Cleanup(func() {
		m.cut()
		m.server.Close()
	})
	return m
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
	json.NewEncoder(w).Encode(protocol.JoinResponse{HostID: "host-1", Secret: "secret", Location: "here"})
}

func (m *muster) host(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	removed := m.removed
	m.mu.Unlock()
	switch {
	case removed:
		w.WriteHeader(http.StatusGone)
		return
	case r.Header.Get("Authorization") != "Bearer host-1.secret":
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	up := websocket.Upgrader{}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer ws.Close()
	m.mu.Lock()
	m.socket = ws
	m.links++
	m.mu.Unlock()
	for {
		_, frame, err := ws.ReadMessage()
		if err != nil {
			return
		}
		in, err := protocol.Decode(frame)
		if err != nil {
			m.t.Error(err)
			return
		}
		m.hear(ws, in)
	}
}

func (m *muster) hear(ws *websocket.Conn, in protocol.Message) {
	m.mu.Lock()
	var out []protocol.Message
	switch {
	case in.Hello != nil:
		m.hello = *in.Hello
		m.hellos++
	case in.Status != nil:
		m.status = in.Status
		for _, i := range in.Status.Instances {
			for _, g := range i.Groups {
				if g.ProcessID != "" && g.Started.IsZero() {
					m.early = g.ProcessID
				}
			}
		}
	case in.Exited != nil:
		if !slices.ContainsFunc(m.exits, func(e protocol.Exited) bool { return e.Seq == in.Exited.Seq }) {
			m.exits = append(m.exits, *in.Exited)
		}
		if !m.deaf {
			out = append(out, protocol.Message{Ack: &protocol.Ack{Seq: in.Exited.Seq}})
		}
	}
	close(m.change)
	m.change = make(chan struct{})
	m.mu.Unlock()
	if in.Hello != nil {
		m.putDesired(ws)
	}
	for _, o := range out {
		m.put(ws, o)
	}
}

func (m *muster) put(ws *websocket.Conn, o protocol.Message) {
	m.wide.Lock()
	defer m.wide.Unlock()
	m.write(ws, o)
}

// write writes a message. The caller must hold wide.
func (m *muster) write(ws *websocket.Conn, o protocol.Message) {
	frame, err := protocol.Encode(o)
	if err != nil {
		m.t.Error(err)
		return
	}
	_ = ws.WriteMessage(websocket.TextMessage, frame) // the agent connects again
}

// putDesired sends the desired state, if there is one. As with Muster, what is sent last is
// the newest: an older one must not follow it.
func (m *muster) putDesired(ws *websocket.Conn) {
	m.wide.Lock()
	defer m.wide.Unlock()
	m.mu.Lock()
	a := m.desired
	m.mu.Unlock()
	if a != nil {
		m.write(ws, protocol.Message{Assign: a})
	}
}

// send sends a message if the agent is linked.
func (m *muster) send(o protocol.Message) {
	m.mu.Lock()
	ws := m.socket
	m.mu.Unlock()
	if ws != nil {
		m.put(ws, o)
	}
}

// assign sets the desired state.
func (m *muster) assign(all ...protocol.Desired) {
	m.mu.Lock()
	m.desired = &protocol.Assign{Instances: all}
	ws := m.socket
	m.mu.Unlock()
	if ws != nil {
		m.putDesired(ws)
	}
}

// cut ends the link.
func (m *muster) cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.socket != nil {
		m.socket.Close()
	}
}

// until waits until something that the agent sends makes ok true; mu is held during it.
func (m *muster) until(what string, ok func() bool) {
	m.t.Helper()
	late := time.After(patience)
	for {
		m.mu.Lock()
		good, change := ok(), m.change
		m.mu.Unlock()
		if good {
			return
		}
		select {
		case <-change:
		case <-late:
			m.mu.Lock()
			text, _ := json.Marshal(m.status)
			m.mu.Unlock()
			m.t.Fatalf("waited in vain until %s; the last status is %.4000s", what, text)
		}
	}
}

// run waits until groups of an instance run.
func (m *muster) run(instance string, groups ...string) {
	m.t.Helper()
	m.until(fmt.Sprintf("the groups %q of %s run", groups, instance), func() bool {
		return !slices.ContainsFunc(groups, func(name string) bool {
			g := m.group(instance, name)
			return g == nil || g.Phase != protocol.GroupRunning
		})
	})
}

// group returns a group in the last status, or nil. The caller must hold mu.
func (m *muster) group(instance, group string) *protocol.GroupStatus {
	i := m.instance(instance)
	if i == nil {
		return nil
	}
	at := slices.IndexFunc(i.Groups, func(g protocol.GroupStatus) bool { return g.Name == group })
	if at < 0 {
		return nil
	}
	return &i.Groups[at]
}

// instance returns an instance in the last status, or nil. The caller must hold mu.
func (m *muster) instance(id string) *protocol.Instance {
	if m.status == nil {
		return nil
	}
	at := slices.IndexFunc(m.status.Instances, func(i protocol.Instance) bool { return i.InstanceID == id })
	if at < 0 {
		return nil
	}
	return &m.status.Instances[at]
}

func quiet(testing.TB) *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
