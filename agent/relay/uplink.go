package relay

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/hosts/protocol"
)

// Times of the link.
const (
	silence = 35 * time.Second
	pinging = 10 * time.Second
	writing = 10 * time.Second
	opening = 15 * time.Second // until Muster has accepted a process
)

// refusal is Muster's refusal of a process.
type refusal struct{ reason string }

func (r *refusal) Error() string { return "Muster refuses the process: " + r.reason }

var (
	errNoLink  = errors.New("there is no link to Muster")
	errNoToken = errors.New("what to show to Muster is not known yet")
	errDropped = errors.New("the process was dropped by Muster as soon as it had been let in")
)

// uplink is one WebSocket to Muster.
type uplink struct {
	r     *Relay
	ws    *websocket.Conn
	parts bool // both ends know protocol.RelayPart

	writing sync.Mutex
	mu      sync.Mutex
	last    uint32
	streams map[uint32]*stream
	over    bool
	stop    chan struct{}
}

// stream is one process's connection on the link.
type stream struct {
	u       *uplink
	id      uint32
	p       *process
	settled chan error // receives, once, whether Muster accepts the process
	dropped bool       // Muster closed it; guarded by the process's mutex

	parts   protocol.Parts // of the frame being received; used by take alone
	sending sync.Mutex     // held while a frame is sent, so that its parts stay together
}

func newUplink(r *Relay, ws *websocket.Conn) *uplink {
	u := &uplink{r: r, ws: ws, parts: ws.Subprotocol() == protocol.RelayInParts, streams: map[uint32]*stream{}, stop: make(chan struct{})}
	ws.SetReadLimit(protocol.MaxRelayed)
	alive := func() error { return ws.SetReadDeadline(time.Now().Add(silence)) }
	alive()
	ws.SetPongHandler(func(string) error { return alive() })
	go func() {
		tick := time.NewTicker(pinging)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writing))
			case <-u.stop:
				return
			}
		}
	}()
	return u
}

func (u *uplink) read() error {
	for {
		_, frame, err := u.ws.ReadMessage()
		if err != nil {
			return err
		}
		if err := u.ws.SetReadDeadline(time.Now().Add(silence)); err != nil {
			return err
		}
		m, err := protocol.ParseRelayed(frame)
		if err != nil {
			return err
		}
		u.mu.Lock()
		st := u.streams[m.Stream]
		u.mu.Unlock()
		if st != nil {
			st.take(m)
		}
	}
}

func (st *stream) take(m protocol.Relayed) {
	switch m.Op {
	case protocol.RelayAccept:
		st.settle(nil)
	case protocol.RelayRefuse:
		st.forget()
		st.settle(&refusal{string(m.Payload)})
	case protocol.RelayFrame, protocol.RelayPart:
		frame, err := st.parts.Add(m)
		if err != nil {
			st.p.r.log.Error("a message of Muster is too large for a process; it is dropped", "process_id", st.p.id, "error", err)
		}
		if frame != nil {
			st.p.fromMuster(frame)
		}
	case protocol.RelayClose:
		st.forget()
		st.p.closedByMuster(st)
	}
}

func (st *stream) settle(err error) {
	select {
	case st.settled <- err:
	default:
	}
}

func (st *stream) forget() {
	st.u.mu.Lock()
	defer st.u.mu.Unlock()
	delete(st.u.streams, st.id)
}

// open connects a process to Muster.
func (u *uplink) open(ctx context.Context, p *process, query url.Values) (*stream, error) {
	u.mu.Lock()
	if u.over {
		u.mu.Unlock()
		return nil, errNoLink
	}
	u.last++
	st := &stream{u: u, id: u.last, p: p, settled: make(chan error, 1)}
	u.streams[st.id] = st
	u.mu.Unlock()
	if err := u.send(protocol.Relayed{Op: protocol.RelayOpen, Stream: st.id, Payload: []byte(query.Encode())}); err != nil {
		st.forget()
		return nil, err
	}
	late := time.NewTimer(opening)
	defer late.Stop()
	var err error
	select {
	case err = <-st.settled:
	case <-late.C:
		err = errNoLink
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		st.close()
		return nil, err
	}
	return st, nil
}

// send sends a frame. Frames of other streams can be sent between its parts.
func (u *uplink) send(m protocol.Relayed) error {
	frames, err := m.Frames(u.parts)
	if err != nil {
		return err
	}
	for frame := range frames {
		if err := u.write(frame); err != nil {
			return err
		}
	}
	return nil
}

func (u *uplink) write(frame []byte) error {
	u.writing.Lock()
	defer u.writing.Unlock()
	u.ws.SetWriteDeadline(time.Now().Add(writing))
	return u.ws.WriteMessage(websocket.BinaryMessage, frame)
}

// send sends a frame of the process.
func (st *stream) send(frame []byte) error {
	st.sending.Lock()
	defer st.sending.Unlock()
	return st.sendNext(frame)
}

// sendNext is like send. The caller must hold sending.
func (st *stream) sendNext(frame []byte) error {
	return st.u.send(protocol.Relayed{Op: protocol.RelayFrame, Stream: st.id, Payload: frame})
}

// close ends the stream and notifies Muster.
func (st *stream) close() {
	st.forget()
	_ = st.u.send(protocol.Relayed{Op: protocol.RelayClose, Stream: st.id}) // a broken link ends it as well
}

// end notifies all streams that the link is gone.
func (u *uplink) end() {
	close(u.stop)
	u.mu.Lock()
	u.over = true
	all := u.streams
	u.streams = map[uint32]*stream{}
	u.mu.Unlock()
	for _, st := range all {
		st.settle(errNoLink)
		st.p.lostLink(st)
	}
}
