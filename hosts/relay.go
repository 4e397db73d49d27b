package hosts

import (
	"bytes"
	"cmp"
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
	"github.com/musterhq/muster/internal/wake"
)

// Bounds of a relay.
const (
	maxStreams      = 4096     // processes of one host
	maxWaiting      = 256      // frames of one process waiting to be read
	maxWaitingBytes = 8 << 20  // of one process
	maxHostBytes    = 64 << 20 // of all processes of one host
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
	held    int // bytes of the frames that wait, and of unfinished ones
}

// stream is one process's connection; it is a door.Socket.
type stream struct {
	r    *relay
	id   uint32
	over chan struct{}
	once sync.Once

	sending sync.Mutex // held while a frame is sent, so that its parts stay together

	arrived wake.Nudge     // there is something in inbox
	inbox   [][]byte       // guarded by the mutex of the relay, as the rest
	parts   protocol.Parts // of the frame being received
	held    int            // bytes in both
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
	st := &stream{r: l, id: m.Stream, arrived: wake.NewNudge(), over: make(chan struct{})}
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

// runs reports whether the host has the instance that a process claims to belong to, or the
// process is one of this process's own agent. The token is checked later.
func (l *relay) runs(query url.Values) bool {
	ref := compute.Ref{FleetID: query.Get("FleetId"), ComputeName: query.Get("ComputeId"), ProcessID: query.Get("pID")}
	if own := l.s.opts.Own; own != nil && own(ref) {
		return true
	}
	hostID, ok := l.s.opts.Instances.HostOf(l.s.opts.Store.View(), ref)
	return ok && hostID == l.hostID
}

// deliver passes a frame to its stream once it is complete. It drops a stream of which too
// much waits, or whose frame is larger than the agent should have let it become; if too much
// of all streams waits, it drops the one with the most.
func (l *relay) deliver(m protocol.Relayed) {
	l.mu.Lock()
	st := l.streams[m.Stream]
	if st == nil {
		l.mu.Unlock()
		return
	}
	before := st.parts.Held()
	frame, err := st.parts.Add(m)
	st.hold(st.parts.Held() - before + len(frame))
	if frame != nil {
		st.inbox = append(st.inbox, frame)
		st.arrived.Send()
	}
	var drop *stream
	switch {
	case err != nil || st.held > maxWaitingBytes || len(st.inbox) > maxWaiting:
		drop = st
	case l.held > maxHostBytes:
		drop = slices.MaxFunc(slices.Collect(maps.Values(l.streams)), func(a, b *stream) int { return cmp.Compare(a.held, b.held) })
	}
	if drop != nil {
		drop.discard()
	}
	l.mu.Unlock()
	if drop != nil {
		l.s.log.Warn("a relayed process sends more than is read; its connection is dropped", "host_id", l.hostID, "error", err)
		drop.Drop()
	}
}

// hold counts bytes as held. l.mu must be held.
func (st *stream) hold(n int) {
	st.held += n
	st.r.held += n
}

// discard drops what has arrived. l.mu must be held.
func (st *stream) discard() {
	st.hold(-st.held)
	st.inbox, st.parts = nil, protocol.Parts{}
}

// take returns the oldest frame that has arrived, or nil.
func (st *stream) take() []byte {
	st.r.mu.Lock()
	defer st.r.mu.Unlock()
	if len(st.inbox) == 0 {
		return nil
	}
	frame := st.inbox[0]
	if st.inbox = st.inbox[1:]; len(st.inbox) == 0 {
		st.inbox = nil
	}
	if st.held > 0 { // 0 if the stream has ended
		st.hold(-len(frame))
	}
	return frame
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
		st.r.mu.Lock()
		delete(st.r.streams, st.id)
		st.parts = protocol.Parts{}
		st.hold(-st.held) // what is left is read at once
		st.r.mu.Unlock()
		close(st.over)
	})
}

// refuse ends a stream that was not accepted, and sends the agent the reason.
func (st *stream) refuse(err error) error {
	st.finish()
	return st.r.send(protocol.Relayed{Op: protocol.RelayRefuse, Stream: st.id, Payload: []byte(err.Error())})
}

// NextReader waits for the process's next frame. Frames received before the end are read
// first.
func (st *stream) NextReader() (int, io.Reader, error) {
	for over := false; ; {
		if frame := st.take(); frame != nil {
			return websocket.TextMessage, bytes.NewReader(frame), nil
		}
		if over {
			return 0, nil, io.EOF
		}
		select {
		case <-st.arrived:
		case <-st.over:
			over = true
		}
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
