package wrap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/internal/wake"
)

// Timeouts of the link. A request not answered within patience counts as lost.
const (
	patience  = 20 * time.Second
	writing   = 10 * time.Second
	firstWait = time.Second
	lastWait  = 16 * time.Second
	maxFrame  = 1 << 20
)

// link is a connection to Muster that is reopened whenever it breaks, with the same
// URL.
type link struct {
	target string
	log    *slog.Logger
	pushes chan message

	mu      sync.Mutex
	ws      *websocket.Conn
	ready   chan struct{} // closed while there is a connection
	answers map[string]chan message
}

func newLink(ctx context.Context, target string, log *slog.Logger) *link {
	l := &link{target: target, log: log, pushes: make(chan message, 16), ready: make(chan struct{}), answers: map[string]chan message{}}
	go l.keep(ctx)
	return l
}

func (l *link) keep(ctx context.Context) {
	wait := firstWait
	for ctx.Err() == nil {
		dialer := websocket.Dialer{HandshakeTimeout: patience, Proxy: http.ProxyFromEnvironment}
		ws, res, err := dialer.DialContext(ctx, l.target, nil)
		if err == nil {
			wait = firstWait
			err = l.read(ctx, ws)
		} else if res != nil {
			err = fmt.Errorf("%w (HTTP %s)", err, res.Status)
		}
		if ctx.Err() != nil {
			return
		}
		l.log.Warn("no connection to Muster", "error", err, "again_in", wait)
		wake.Sleep(ctx, wait)
		wait = min(2*wait, lastWait)
	}
}

// read serves one connection until it ends.
func (l *link) read(ctx context.Context, ws *websocket.Conn) error {
	stop := context.AfterFunc(ctx, func() { ws.Close() })
	defer stop()
	defer ws.Close()
	ws.SetReadLimit(maxFrame)
	l.mu.Lock()
	l.ws = ws
	close(l.ready)
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ws, l.ready = nil, make(chan struct{})
	}()
	for {
		_, frame, err := ws.ReadMessage()
		if err != nil {
			return err
		}
		var m message
		if err := json.Unmarshal(frame, &m); err != nil {
			return err
		}
		l.take(m)
	}
}

// take delivers an answer to the request that waits for it, and a push to the
// wrapper.
func (l *link) take(m message) {
	if m.RequestID == "" {
		select {
		case l.pushes <- m:
		default:
			l.log.Warn("a push is dropped", "action", m.Action)
		}
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.answers[m.RequestID]; c != nil {
		c <- m // has room for the only answer
		delete(l.answers, m.RequestID)
	}
}

// tell sends a request without waiting for an answer. Without a connection it does
// nothing.
func (l *link) tell(action string, members map[string]any) {
	_ = l.write(action, uuid.NewString(), members)
}

var errAway = errors.New("there is no connection to Muster")

func (l *link) write(action, id string, members map[string]any) error {
	all := maps.Clone(members)
	if all == nil {
		all = map[string]any{}
	}
	all["Action"], all["RequestId"] = action, id
	frame, err := json.Marshal(all)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ws == nil {
		return errAway
	}
	l.ws.SetWriteDeadline(time.Now().Add(writing))
	return l.ws.WriteMessage(websocket.TextMessage, frame)
}

// ask sends a request and waits for its answer. If the connection breaks, it sends it
// again with the same id.
func (l *link) ask(ctx context.Context, action string, members map[string]any) error {
	id := uuid.NewString()
	answer := make(chan message, 1)
	l.mu.Lock()
	l.answers[id] = answer
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.answers, id)
	}()
	for {
		l.mu.Lock()
		ready := l.ready
		l.mu.Unlock()
		select {
		case <-ready:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", action, ctx.Err())
		}
		if l.write(action, id, members) != nil {
			continue // the connection broke; another is opened
		}
		late := time.NewTimer(patience)
		select {
		case m := <-answer:
			late.Stop()
			if m.StatusCode != http.StatusOK {
				return fmt.Errorf("%s: Muster answers %d: %s", action, m.StatusCode, m.ErrorMessage)
			}
			return nil
		case <-late.C:
		case <-ctx.Done():
			late.Stop()
			return fmt.Errorf("%s: %w", action, ctx.Err())
		}
	}
}
