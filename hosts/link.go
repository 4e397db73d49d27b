package hosts

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/release"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

// Bounds of one connection.
const (
	silence   = 35 * time.Second // without a frame or a ping
	writing   = 10 * time.Second // of one frame
	maxQueued = 1024             // messages waiting to be written
	renewing  = time.Minute      // between checks of the age of tokens
	marking   = 5 * time.Second  // between checks of where game sessions are
)

// link is one agent's connection.
type link struct {
	s      *Server
	hostID string
	ws     *websocket.Conn
	remote *http.Request

	desired wake.Nudge // the desired state may have changed
	queue   chan protocol.Message
	ended   chan struct{}
	end     sync.Once
	tokens  map[string]token // by instance; used by the writer only
	offers  bool             // a new secret was offered; used by the writer only

	former former // the connection that it replaced

	unsupported atomic.Bool // the agent is of a release that is not supported with this one

	mu      sync.Mutex
	run     string // of the agent, from its Hello
	offered string // the secret sent to the agent on this connection
	last    *protocol.Status
	present bool                 // Hello was received
	cluster bool                 // it runs container groups only, as pods
	shells  *protocol.ShellOffer // from its Hello; nil if the agent is older than remote shells
	inside  *protocol.ShellOffer // the same for shells in containers
	pending map[string]ending
	tails   bool                            // it answers Tail
	asked   map[string]chan protocol.Tailed // by id of the request
}

// ending is a process whose end is stored, and whose logs have not arrived.
type ending struct {
	seq      uint64
	evidence instance.Evidence
}

// connect serves an agent's connection, which replaces an older one.
func (s *Server) connect(w http.ResponseWriter, r *http.Request, hostID string) error {
	header := door.UpgradeHeader(r)
	if header == nil {
		header = http.Header{}
	}
	header.Set(protocol.HeaderRelease, release.Number())
	ws, err := s.upgrader.Upgrade(w, r, header)
	if err != nil {
		return nil // the upgrader has responded
	}
	l := &link{
		s: s, hostID: hostID, ws: ws, remote: r, desired: wake.NewNudge(), queue: make(chan protocol.Message, maxQueued),
		ended: make(chan struct{}), tokens: map[string]token{}, pending: map[string]ending{}, asked: map[string]chan protocol.Tailed{},
	}
	if !s.enter(l) {
		l.drop()
		return nil
	}
	defer s.open.Done()
	ctx := store.WithActor(s.ctx, hostID)
	var writer sync.WaitGroup
	writer.Go(func() { l.write(ctx) })
	err = readFrames(ws, protocol.MaxFrame, func(frame []byte) error {
		m, err := protocol.Decode(frame)
		if err != nil {
			return err
		}
		return l.hear(ctx, m)
	})
	l.drop()
	writer.Wait()
	s.leave(ctx, l)
	s.log.Info("an agent's connection ended", "host_id", hostID, "error", err)
	return nil
}

// enter makes a connection the current one of its host. It reports false if the server
// is stopping.
func (s *Server) enter(l *link) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	if old := s.links[l.hostID]; old != nil {
		l.former = old.asFormer()
		old.drop()
	}
	s.links[l.hostID] = l
	s.open.Add(1)
	s.metrics.connected.Set(float64(len(s.links)))
	return true
}

// leave reports a host as disconnected, unless it has a newer connection.
func (s *Server) leave(ctx context.Context, l *link) {
	s.mu.Lock()
	newest := s.links[l.hostID] == l
	if newest {
		delete(s.links, l.hostID)
	}
	s.metrics.connected.Set(float64(len(s.links)))
	stopping := s.stopping
	s.mu.Unlock()
	if !newest || stopping {
		return
	}
	if err := s.opts.Instances.HostLost.Do(ctx, l.hostID); err != nil && ctx.Err() == nil {
		s.log.Error("a host's absence is not noted", "host_id", l.hostID, "error", err)
	}
}

// drop ends the connection.
func (l *link) drop() {
	l.end.Do(func() {
		close(l.ended)
		l.ws.Close()
	})
}

// send queues a message. An agent that does not read loses its connection.
func (l *link) send(m protocol.Message) {
	select {
	case l.queue <- m:
	case <-l.ended:
	default:
		l.s.log.Warn("an agent does not read; its connection is dropped", "host_id", l.hostID)
		l.drop()
	}
}

// write sends queued messages, and the desired state whenever it changes.
func (l *link) write(ctx context.Context) {
	renew := time.NewTicker(renewing)
	defer renew.Stop()
	mark := time.NewTicker(marking)
	defer mark.Stop()
	var sent *protocol.Assign
	for {
		var err error
		select {
		case <-l.ended:
			return
		case m := <-l.queue:
			err = l.put(m)
		case <-l.desired:
			sent, err = l.putDesired(ctx, sent)
		case <-renew.C:
			sent, err = l.putDesired(ctx, sent)
		case <-mark.C:
			if l.marks() {
				sent, err = l.putDesired(ctx, sent)
			}
		}
		if err != nil {
			l.s.log.Warn("sending to an agent failed", "host_id", l.hostID, "error", err)
			l.drop()
			return
		}
	}
}

func (l *link) put(m protocol.Message) error {
	frame, err := protocol.Encode(m)
	if err != nil {
		return err
	}
	l.ws.SetWriteDeadline(time.Now().Add(writing))
	return l.ws.WriteMessage(websocket.TextMessage, frame)
}

// putDesired sends the desired state if it differs from the one sent last, and a new
// secret if one is due. A host that was removed learns that when its next connection is refused.
func (l *link) putDesired(ctx context.Context, sent *protocol.Assign) (*protocol.Assign, error) {
	h := l.s.opts.Instances.Host(l.s.opts.Store.View(), l.hostID)
	if h == nil {
		l.s.forget(l.hostID)
		return sent, errRemoved
	}
	if err := l.offer(ctx, h); err != nil {
		return sent, err
	}
	now := l.assign(time.Now())
	if sent != nil && reflect.DeepEqual(*sent, now) {
		return sent, nil
	}
	return &now, l.put(protocol.Message{Assign: &now})
}

// readFrames passes the frames of a connection to handle, until the connection ends, is
// silent for too long, or handle fails.
func readFrames(ws *websocket.Conn, limit int64, handle func(frame []byte) error) error {
	ws.SetReadLimit(limit)
	alive := func() error { return ws.SetReadDeadline(time.Now().Add(silence)) }
	ws.SetPingHandler(func(data string) error {
		if err := alive(); err != nil {
			return err
		}
		err := ws.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(writing))
		if errors.Is(err, websocket.ErrCloseSent) {
			return nil
		}
		return err
	})
	for {
		if err := alive(); err != nil {
			return err
		}
		_, frame, err := ws.ReadMessage()
		if err != nil {
			return err
		}
		if err := handle(frame); err != nil {
			return err
		}
	}
}
