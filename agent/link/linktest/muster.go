// Package linktest is the server that agents link with, for tests of agents: it does what a test
// says, and records what agents send.
package linktest

import (
	"crypto/ed25519"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wait"
)

// Muster is the server. Its host is host-1, which joins with "token". A test may handle more of
// what agents request.
type Muster struct {
	testing.TB
	*http.ServeMux
	URL      string
	Patience time.Duration          // of Until
	Heard    func(protocol.Message) // called with Mu held before a message is recorded; may be nil

	writing sync.Mutex // held while a frame is written, and before that while the desired state is read

	Mu       sync.Mutex // guards the members below
	Secret   string     // of the host
	BuildKey ed25519.PublicKey
	Desired  *protocol.Assign // of agents that say Hello; nil: nothing is sent
	Deaf     bool             // does not acknowledge
	Refuses  bool             // accepts no link
	Removed  bool             // the host was removed

	Joins, Links, Hellos int
	Hello                protocol.Hello // the last one
	Status               protocol.Status
	Exits                []protocol.Exited
	Reports              map[uint64]int // of ends, by sequence number

	change chan struct{} // closed and replaced at each change
	socket *websocket.Conn
}

// New starts a server, which ends with the test.
func New(t testing.TB) *Muster {
	t.Helper()
	m := &Muster{TB: t, ServeMux: http.NewServeMux(), Patience: wait.Patience(), Secret: "secret", Reports: map[uint64]int{}, change: make(chan struct{})}
	m.HandleFunc("POST "+protocol.PathJoin, m.join)
	m.HandleFunc("GET "+protocol.PathHost, m.host)
	server := httptest.NewServer(m)
	m.URL = server.URL
	t.Cleanup(func() {
		m.Cut()
		server.Close()
	})
	return m
}

func (m *Muster) join(w http.ResponseWriter, r *http.Request) {
	var in protocol.JoinRequest
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Token != "token" {
		w.WriteHeader(http.StatusForbidden)
		json.NewEncoder(w).Encode(protocol.Refusal{Message: "the token is not known"})
		return
	}
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.Joins++
	json.NewEncoder(w).Encode(protocol.JoinResponse{HostID: "host-1", Secret: "secret", Location: "here", BuildKey: m.BuildKey})
}

// Allowed reports whether a request has the credential of the host, and answers it otherwise.
func (m *Muster) Allowed(w http.ResponseWriter, r *http.Request) bool {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	switch {
	case m.Removed:
		w.WriteHeader(http.StatusGone)
		return false
	case r.Header.Get("Authorization") == "Bearer host-1."+m.Secret:
		return true
	}
	w.WriteHeader(http.StatusUnauthorized)
	return false
}

func (m *Muster) host(w http.ResponseWriter, r *http.Request) {
	m.Mu.Lock()
	refuses := m.Refuses
	m.Mu.Unlock()
	if refuses {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if !m.Allowed(w, r) {
		return
	}
	ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer ws.Close()
	m.Mu.Lock()
	m.socket = ws
	m.Links++
	m.Mu.Unlock()
	for {
		_, frame, err := ws.ReadMessage()
		if err != nil {
			return
		}
		in, err := protocol.Decode(frame)
		if err != nil {
			m.Errorf("the agent sent %s: %v", frame, err)
			return
		}
		m.hear(in)
	}
}

func (m *Muster) hear(in protocol.Message) {
	m.Mu.Lock()
	if m.Heard != nil {
		m.Heard(in)
	}
	switch {
	case in.Hello != nil:
		m.Hello = *in.Hello
		m.Hellos++
	case in.Status != nil:
		m.Status = *in.Status
	case in.Exited != nil:
		if !slices.ContainsFunc(m.Exits, func(e protocol.Exited) bool { return e.Seq == in.Exited.Seq }) {
			m.Exits = append(m.Exits, *in.Exited)
		}
		m.Reports[in.Exited.Seq]++
	}
	deaf := m.Deaf
	close(m.change)
	m.change = make(chan struct{})
	m.Mu.Unlock()
	switch {
	case in.Hello != nil:
		m.sendDesired()
	case in.Exited != nil && !deaf:
		m.Send(protocol.Message{Ack: &protocol.Ack{Seq: in.Exited.Seq}})
	}
}

// Send sends a message if an agent is linked.
func (m *Muster) Send(o protocol.Message) {
	m.writing.Lock()
	defer m.writing.Unlock()
	m.write(o)
}

// write writes a message. The caller must hold writing.
func (m *Muster) write(o protocol.Message) {
	m.Mu.Lock()
	ws := m.socket
	m.Mu.Unlock()
	frame, err := protocol.Encode(o)
	if err != nil {
		m.Error(err)
		return
	}
	if ws != nil {
		_ = ws.WriteMessage(websocket.TextMessage, frame) // the agent connects again
	}
}

// sendDesired sends the desired state, if there is one. As with Muster, what is sent last is the
// newest: an older one must not follow it.
func (m *Muster) sendDesired() {
	m.writing.Lock()
	defer m.writing.Unlock()
	m.Mu.Lock()
	a := m.Desired
	m.Mu.Unlock()
	if a != nil {
		m.write(protocol.Message{Assign: a})
	}
}

// Assign sets the instances that are desired.
func (m *Muster) Assign(all ...protocol.Desired) {
	m.Mu.Lock()
	a := protocol.Assign{Instances: all, BuildKey: m.BuildKey}
	m.Mu.Unlock()
	m.Desire(a)
}

// Desire sets the desired state.
func (m *Muster) Desire(a protocol.Assign) {
	m.Mu.Lock()
	m.Desired = &a
	m.Mu.Unlock()
	m.sendDesired()
}

// Forget forgets the last status, so that a test sees what the next agent reports.
func (m *Muster) Forget() {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.Status, m.Links = protocol.Status{}, 0
}

// Set changes the members that Mu guards.
func (m *Muster) Set(change func()) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	change()
}

// Cut drops the link.
func (m *Muster) Cut() {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if m.socket != nil {
		m.socket.NetConn().Close()
	}
}

// GoAway ends the link as a server does that stops.
func (m *Muster) GoAway() {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	bye := websocket.FormatCloseMessage(websocket.CloseGoingAway, "this Muster server stops")
	if err := m.socket.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Minute)); err != nil {
		m.Error(err)
	}
	m.socket.Close()
}

// Until waits until something that the agent sends makes holds true. Mu is held while it is called.
func (m *Muster) Until(what string, holds func() bool) {
	m.Helper()
	late := time.After(m.Patience)
	for {
		m.Mu.Lock()
		if holds() {
			m.Mu.Unlock()
			return
		}
		change, status, exits := m.change, m.Status, m.Exits
		m.Mu.Unlock()
		select {
		case <-change:
		case <-late:
			text, _ := json.Marshal(status)
			m.Fatalf("waited in vain until %s; the last status was %.4000s, the exits %+v", what, text, exits)
		}
	}
}

// Instance returns an instance of the last status, or one without an id. The caller must hold Mu,
// or be sure that nothing changes.
func (m *Muster) Instance(id string) (in protocol.Instance) {
	for _, i := range m.Status.Instances {
		if i.InstanceID == id {
			return i
		}
	}
	return in
}
