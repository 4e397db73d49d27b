package hosts

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/fault"
)

// Bounds of a relay.
const (
	maxStreams = 4096 // processes of one host
	maxWaiting = 256  // frames of one process waiting to be read
)

// relay carries the connections of a host's processes over one WebSocket.
type relay struct {
	s      *Server
	hostID string
	remote string
	ws     *websocket.Conn
	parts  bool // both ends know protocol.RelayPart

	writing sync.Mutex

	mu      sync.Mutex
	streams map[uint32]*stream
}

// stream is one process's connection; it is a door.Socket.
type stream struct {
	r     *relay
	id    uint32
	inbox chan []byte
	over  chan struct{}
	once  sync.Once

	parts   protocol.Parts // of the frame being received; used by hear alone
	sending sync.Mutex     // held while a frame is sent, so that its parts stay together
}

// relays serves the WebSocket of an agent's relay.
func (s *Server) relays(w http.ResponseWriter, r *http.Request, hostID string) error {
	upgrader := s.upgrader
	upgrader.Subprotocols = []string{protocol.RelayInParts}
	ws, err := upgrader.Upgrade(w, r, door.UpgradeHeader(r))
	if err != nil {
		return nil // the upgrader has responded
	}
	defer ws.Close()
	l := &relay{s: s, hostID: hostID, remote: sourceOf(r), ws: ws, parts: ws.Subprotocol() == protocol.RelayInParts, streams: map[uint32]*stream{}}
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		return nil
	}
	s.open.Add(1)
	s.mu.Unlock()
	defer s.open.Done()
	defer context.AfterFunc(s.ctx, func() { ws.Close() })()
	err = readFrames(ws, protocol.MaxRelayed, l.hear)
	ws.Close()
	l.end()
	s.log.Info("a relay's connection ended", "host_id", hostID, "error", err)
	return nil
}

// hear handles one frame of the agent. An error ends the connection.
func (l *relay) hear(frame []byte) error {
	m, err := protocol.ParseRelayed(frame)
	if err != nil {
		return err
	}
	switch m.Op {
	case protocol.RelayOpen:
		return l.begin(m)
	case protocol.RelayFrame, protocol.RelayPart:
		l.deliver(m)
	case protocol.RelayClose:
		if st := l.find(m.Stream); st != nil {
			st.finish()
		}
	}
	return nil
}

// begin accepts the connection of a process, or refuses it with the reason.
func (l *relay) begin(m protocol.Relayed) error {
	st := &stream{r: l, id: m.Stream, inbox: make(chan []byte, maxWaiting), over: make(chan struct{})}
	l.mu.Lock()
	_, twice := l.streams[m.Stream]
	full := len(l.streams) >= maxStreams
	if !twice && !full {
		l.streams[m.Stream] = st
	}
	l.mu.Unlock()
	if twice {
		return errors.New("a stream was opened twice")
	}
	query, err := url.ParseQuery(string(m.Payload))
	switch {
	case err != nil:
		err = fault.Invalid("the query of a relayed connection: %v", err)
	case full:
		err = fault.New(fault.Throttling, "the host relays %d connections, which is the limit", maxStreams)
	case !l.runs(query):
		err = fault.New(fault.Unauthorized, "compute %s is not on this host", cut(query.Get("ComputeId")))
	}
	if err != nil {
		return st.refuse(err)
	}
	go func() {
		if err := l.s.opts.Relay(query, l.remote, st); err != nil {
			st.refuse(err)
			return
		}
		l.send(protocol.Relayed{Op: protocol.RelayAccept, Stream: m.Stream})
	}()
	return nil
}

// runs reports whether the host has the instance that a process claims to belong to.
func (l *relay) runs(query url.Values) bool {
	ref := compute.Ref{FleetID: query.Get("FleetId"), ComputeName: query.Get("ComputeId"), ProcessID: query.Get("pID")}
	hostID, ok := l.s.opts.Instances.HostOf(l.s.opts.Store.View(), ref)
	return ok && hostID == l.hostID
}

// deliver passes a frame to its stream once it is complete. It drops a stream whose queue is
// full, or whose frame is larger than the agent should have let it become.
func (l *relay) deliver(m protocol.Relayed) {
	st := l.find(m.Stream)
	if st == nil {
		return
	}
	frame, err := st.parts.Add(m)
	if err != nil {
		l.s.log.Warn("a relayed process's connection is dropped", "host_id", l.hostID, "error", err)
		st.Drop()
	}
	if frame == nil {
		return
	}
	select {
	case st.inbox <- frame:
	case <-st.over:
	default:
		l.s.log.Warn("a relayed process sends faster than it is read; its connection is dropped", "host_id", l.hostID)
		st.Drop()
	}
}

func (l *relay) find(id uint32) *stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.streams[id]
}

// send sends a frame. Frames of other streams can be sent between its parts.
func (l *relay) send(m protocol.Relayed) error {
	frames, err := m.Frames(l.parts)
	if err != nil {
		return err
	}
	for frame := range frames {
		if err := l.write(frame); err != nil {
			return err
		}
	}
	return nil
}

func (l *relay) write(frame []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.ws.SetWriteDeadline(time.Now().Add(writing))
	return l.ws.WriteMessage(websocket.BinaryMessage, frame)
}

// end ends every stream.
func (l *relay) end() {
	l.mu.Lock()
	all := slices.Collect(maps.Values(l.streams))
	l.mu.Unlock()
	for _, st := range all {
		st.finish()
	}
}

// finish ends a stream without telling the agent.
func (st *stream) finish() {
	st.once.Do(func() {
		close(st.over)
		st.r.mu.Lock()
		delete(st.r.streams, st.id)
		st.r.mu.Unlock()
	})
}

// refuse ends a stream that was not accepted, and sends the agent the reason.
func (st *stream) refuse(err error) error {
	st.finish()
	return st.r.send(protocol.Relayed{Op: protocol.RelayRefuse, Stream: st.id, Payload: []byte(err.Error())})
}

// NextReader waits for the process's next frame.
func (st *stream) NextReader() (int, io.Reader, error) {
	select {
	case frame := <-st.inbox:
		return websocket.TextMessage, bytes.NewReader(frame), nil
	case <-st.over:
	}
	select {
	case frame := <-st.inbox: // frames received before the end are read first
		return websocket.TextMessage, bytes.NewReader(frame), nil
	default:
		return 0, nil, io.EOF
	}
}

// WriteMessage sends a frame to the process. It fails if the frame is too large for the
// agent; nothing of it is sent then.
func (st *stream) WriteMessage(_ int, data []byte) error {
	st.sending.Lock()
	defer st.sending.Unlock()
	select {
	case <-st.over:
		return io.ErrClosedPipe
	default:
	}
	err := st.r.send(protocol.Relayed{Op: protocol.RelayFrame, Stream: st.id, Payload: data})
	if err != nil {
		st.r.s.log.Warn("a message does not reach a relayed process", "host_id", st.r.hostID, "error", err)
	}
	return err
}

// SetReadDeadline does nothing: frames arrive whole.
func (st *stream) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing: the relay's own deadline applies.
func (st *stream) SetWriteDeadline(time.Time) error { return nil }

// Drop ends the connection, and notifies the agent asynchronously.
func (st *stream) Drop() {
	select {
	case <-st.over:
	default:
		st.finish()
		go st.r.send(protocol.Relayed{Op: protocol.RelayClose, Stream: st.id})
	}
}
