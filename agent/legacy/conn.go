package legacy

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/agent/legacy/wire"
)

// silence is how long a connection may be silent: C++ and C# send a ping each interval.
const silence = (wire.PingInterval + wire.PingTimeout) * time.Millisecond

// conn is a WebSocket of a process.
type conn struct {
	p     *process
	ws    *websocket.Conn
	plain bool // of port 5759: pushes only
	gone  chan struct{}

	asked atomic.Bool // it has carried a request

	writing sync.Mutex

	mu   sync.Mutex
	last int64
	acks map[int64]chan bool
}

var (
	errNotReady = errors.New("the game server is not ready for it")
	errNoAck    = errors.New("the game server did not acknowledge it")
	errLost     = errors.New("the connection was lost")
)

// accept upgrades a request to a connection of the process that sends it.
func (s *Server) accept(w http.ResponseWriter, r *http.Request, plain bool) *conn {
	q := r.URL.Query()
	version, language := clip(q.Get("sdkVersion")), clip(q.Get("sdkLanguage"))
	p, ok := s.identify(w, r, q.Get("pID"))
	if !ok {
		return nil
	}
	if version == "" {
		version = "3.1.5"
	}
	ws, err := s.upgrader.Upgrade(w, r, nil)
	if err != nil {
		return nil // the upgrader has answered already
	}
	ws.SetReadLimit(wire.MaxFrame)
	c := &conn{p: p, ws: ws, plain: plain, gone: make(chan struct{}), acks: map[int64]chan bool{}}
	if !plain {
		for _, frame := range wire.Hello(uuid.NewString()) {
			if c.write(frame) != nil {
				c.drop()
				return nil
			}
		}
	}
	if !p.attach(c, version, language) {
		c.drop()
		return nil
	}
	s.log.Info("a game server connects", "process_id", p.a.ProcessID, "sdk", language+" "+version)
	return c
}

// identify returns the process that sends a request, or answers it.
func (s *Server) identify(w http.ResponseWriter, r *http.Request, claimed string) (*process, bool) {
	from, _ := r.Context().Value(callerKey{}).(*caller)
	pid, err := strconv.Atoi(claimed)
	if err != nil || pid < 1 {
		http.Error(w, "the process id is missing", http.StatusBadRequest)
		return nil, false
	}
	p, err := from.process(r.Context(), pid)
	if err != nil {
		s.log.Warn("a program is refused as a game server", "pid", pid, "error", err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil, false
	}
	return p, true
}

// clip bounds a text that is only shown.
func clip(text string) string { return text[:min(len(text), 32)] }

// serveSocketIO serves port 5757.
func (s *Server) serveSocketIO(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/socket.io/" || !websocket.IsWebSocketUpgrade(r) {
		http.Error(w, "only the transport websocket of socket.io is served", http.StatusBadRequest)
		return
	}
	c := s.accept(w, r, false)
	if c == nil {
		return
	}
	defer c.close()
	var d wire.Decoder
	for {
		c.ws.SetReadDeadline(time.Now().Add(silence))
		kind, frame, err := c.ws.ReadMessage()
		if err != nil {
			return
		}
		read := d.Text
		if kind == websocket.BinaryMessage {
			read = d.Binary
		}
		packet, ok, err := read(frame)
		if err != nil {
			s.log.Warn("a game server sends what is no socket.io", "process_id", c.p.a.ProcessID, "error", err)
			return
		}
		if ok && !c.take(packet) {
			return
		}
	}
}

// take handles a packet. It reports whether the connection goes on.
func (c *conn) take(packet wire.Packet) bool {
	switch packet.Kind {
	case wire.Ping:
		return c.write(wire.Pong(packet.Data)) == nil
	case wire.Ack:
		c.mu.Lock()
		defer c.mu.Unlock()
		if waits := c.acks[packet.ID]; waits != nil {
			delete(c.acks, packet.ID)
			waits <- packet.True // has room for the only one
		}
	case wire.Event:
		c.asked.Store(true)
		if err := c.p.enter(); err != nil {
			text, _ := failed(err)
			return c.write(wire.Answer(packet.ID, false, text)) == nil
		}
		go c.answer(packet)
	}
	return true
}

// answer answers a request.
func (c *conn) answer(packet wire.Packet) {
	defer c.p.answered()
	text, err := c.p.answer(packet.Name, packet.Payload)
	if packet.ID != wire.NoID {
		_ = c.write(wire.Answer(packet.ID, err == nil, text)) // a lost connection ends reading
	}
}

// serveWebSocket serves port 5759.
func (s *Server) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	if !websocket.IsWebSocketUpgrade(r) {
		http.Error(w, "only WebSockets are served", http.StatusBadRequest)
		return
	}
	c := s.accept(w, r, true)
	if c == nil {
		return
	}
	defer c.close()
	alive := func() { c.ws.SetReadDeadline(time.Now().Add(silence)) }
	c.ws.SetPongHandler(func(string) error { alive(); return nil })
	alive()
	go c.ping()
	for {
		if _, _, err := c.ws.ReadMessage(); err != nil { // answers pings meanwhile
			return
		}
		alive()
	}
}

// pinging is how often a process with C# 4.0 is looked after.
const pinging = 30 * time.Second

func (c *conn) ping() {
	tick := time.NewTicker(pinging)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writing))
		case <-c.gone:
			return
		}
	}
}

// push sends a push, and waits for its acknowledgement where there is one.
func (c *conn) push(ctx context.Context, push wire.Push) error {
	if c.plain {
		return c.write(wire.Envelope(push))
	}
	if end, is := push.(wire.TerminateProcess); is {
		end.TerminationTime /= 1000
		return c.write(wire.PushFrame(wire.NoID, end))
	}
	acked := make(chan bool, 1)
	c.mu.Lock()
	c.last++
	id := c.last
	c.acks[id] = acked
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.acks, id)
	}()
	if err := c.write(wire.PushFrame(id, push)); err != nil {
		return err
	}
	late := time.NewTimer(accepting)
	defer late.Stop()
	select {
	case yes := <-acked:
		if !yes {
			return errNotReady
		}
		return nil
	case <-late.C:
		return errNoAck
	case <-c.gone:
		return errLost
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *conn) write(frame []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.ws.SetWriteDeadline(time.Now().Add(writing))
	err := c.ws.WriteMessage(websocket.TextMessage, frame)
	if err != nil {
		c.drop()
	}
	return err
}

// drop closes the connection without a close frame: C++ never comes back after one that
// says that all is well.
func (c *conn) drop() { c.ws.NetConn().Close() }

// close is called when nothing is read any more.
func (c *conn) close() {
	c.drop()
	close(c.gone)
	c.p.detach(c)
}
