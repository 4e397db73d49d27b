// Package gamelink connects one game server process to Muster on behalf of a program that
// has no Server SDK. It is the client side of the messages of Server SDK 5, and knows
// nothing of what they mean: package wrap and package gameapi do.
package gamelink

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/internal/gameframe"
	"github.com/musterhq/muster/internal/wake"
)

// SDKVersion is the newest version of the Server SDK whose messages are used.
const SDKVersion = "5.5.0"

// Times and limits of a link. The connection on which a request is not answered within
// patience counts as lost.
const (
	patience  = 20 * time.Second
	writing   = 10 * time.Second
	firstWait = time.Second
	lastWait  = 16 * time.Second
)

// Options configure a Link.
type Options struct {
	FleetID, HostID, ProcessID string
	Version, Language          string // of the SDK that is shown for the process; default: SDKVersion, Muster
	// Endpoint returns the URL of Muster's endpoint for game servers and the auth token to
	// present there. It is called for each connection.
	Endpoint func() (url, token string, err error)
	TLS      *tls.Config // for wss; default: the system's root certificates
	// Push handles a message that Muster sends of its own accord. Calls are in order; the
	// next message is read when it has returned.
	Push func(action string, frame []byte)
	Log  *slog.Logger
}

// Link is a connection to Muster that is reopened whenever it breaks, as the same process.
type Link struct {
	o       Options
	attempt string // identifies the process's first connection to Muster

	mu      sync.Mutex
	conn    *conn         // nil while there is none
	ready   chan struct{} // closed while there is a connection
	answers map[string]chan answer
}

// conn is one connection.
type conn struct {
	ws   *websocket.Conn
	gone chan struct{} // closed when it is lost

	writing sync.Mutex
}

// answer is the answer to a request.
type answer struct {
	frame []byte
	head  head
}

// head is the part of a message that a link reads.
type head struct {
	Action       string
	RequestID    string `json:"RequestId"`
	StatusCode   int
	ErrorMessage string
}

// Refusal is the error of a request that Muster refused.
type Refusal struct {
	Action  string
	Status  int // as in HTTP
	Message string
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("%s: Muster answers %d: %s", r.Action, r.Status, r.Message)
}

// Open returns a link, which connects in the background until ctx ends.
func Open(ctx context.Context, o Options) *Link {
	l := &Link{o: o, attempt: uuid.NewString(), ready: make(chan struct{}), answers: map[string]chan answer{}}
	go l.keep(ctx)
	return l
}

// Connected reports whether there is a connection now.
func (l *Link) Connected() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn != nil
}

func (l *Link) keep(ctx context.Context) {
	wait := firstWait
	for ctx.Err() == nil {
		ws, err := l.dial(ctx)
		if err == nil {
			wait = firstWait
			err = l.read(ctx, ws)
		}
		if ctx.Err() != nil {
			return
		}
		l.o.Log.Warn("no connection to Muster", "process_id", l.o.ProcessID, "error", err, "again_in", wait)
		wake.Sleep(ctx, wait)
		wait = min(2*wait, lastWait)
	}
}

func (l *Link) dial(ctx context.Context) (*websocket.Conn, error) {
	at, token, err := l.o.Endpoint()
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(at)
	if err != nil {
		return nil, errors.New("the URL of Muster's endpoint for game servers is not valid")
	}
	target.RawQuery = url.Values{
		"pID": {l.o.ProcessID}, "ComputeId": {l.o.HostID}, "FleetId": {l.o.FleetID}, "Authorization": {token},
		"sdkVersion": {cmp.Or(l.o.Version, SDKVersion)}, "sdkLanguage": {cmp.Or(l.o.Language, "Muster")}, "IdempotencyToken": {l.attempt},
	}.Encode()
	dialer := websocket.Dialer{HandshakeTimeout: patience, Proxy: http.ProxyFromEnvironment, TLSClientConfig: l.o.TLS, ReadBufferSize: 1024, WriteBufferSize: 1024}
	ws, res, err := dialer.DialContext(ctx, target.String(), nil)
	if err != nil && res != nil {
		err = fmt.Errorf("%w (HTTP %s)", err, res.Status)
	}
	return ws, err
}

// read serves one connection until it ends.
func (l *Link) read(ctx context.Context, ws *websocket.Conn) error {
	c := &conn{ws: ws, gone: make(chan struct{})}
	stop := context.AfterFunc(ctx, c.drop)
	defer stop()
	defer c.drop()
	ws.SetReadLimit(gameframe.Max)
	l.mu.Lock()
	l.conn = c
	close(l.ready)
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.conn, l.ready = nil, make(chan struct{})
		close(c.gone)
	}()
	for {
		_, frame, err := ws.ReadMessage()
		if err != nil {
			return err
		}
		var h head
		if err := json.Unmarshal(frame, &h); err != nil {
			return err
		}
		if h.RequestID == "" {
			l.o.Push(h.Action, frame)
		} else {
			l.take(answer{frame, h})
		}
	}
}

// drop closes the connection without a close frame, which Muster would take for the end of
// the process.
func (c *conn) drop() { c.ws.NetConn().Close() }

// take delivers an answer to the request that waits for it.
func (l *Link) take(a answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.answers[a.head.RequestID]; c != nil {
		c <- a // has room for the only answer
		delete(l.answers, a.head.RequestID)
	}
}

// Ask sends a request and waits for its answer, which it decodes into to unless that is
// nil. If the connection breaks, it sends the request again with the same id, which Muster
// recognizes. Errors: a *Refusal, or one that wraps ctx's; then it is not known whether
// Muster has done what was requested.
func (l *Link) Ask(ctx context.Context, action string, members map[string]any, to any) error {
	id := uuid.NewString()
	all := maps.Clone(members)
	if all == nil {
		all = map[string]any{}
	}
	all["Action"], all["RequestId"] = action, id
	frame, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	if len(frame) > gameframe.Max {
		large := gameframe.TooLarge{Size: int64(len(frame))}
		return &Refusal{action, http.StatusBadRequest, large.Error()}
	}
	answered := make(chan answer, 1)
	l.mu.Lock()
	l.answers[id] = answered
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.answers, id)
	}()
	for {
		a, err := l.send(ctx, frame, answered)
		switch {
		case errors.Is(err, errLost):
			continue
		case err != nil:
			return fmt.Errorf("%s: %w", action, err)
		case a.head.StatusCode != http.StatusOK:
			return &Refusal{action, a.head.StatusCode, a.head.ErrorMessage}
		case to != nil:
			return json.Unmarshal(a.frame, to)
		}
		return nil
	}
}

// errLost means that a connection was lost before the answer came.
var errLost = errors.New("the connection to Muster was lost")

// send sends a frame on the next connection, and waits for the answer on it.
func (l *Link) send(ctx context.Context, frame []byte, answered <-chan answer) (answer, error) {
	l.mu.Lock()
	ready := l.ready
	l.mu.Unlock()
	select {
	case <-ready:
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
	l.mu.Lock()
	c := l.conn
	l.mu.Unlock()
	if c == nil {
		return answer{}, errLost
	}
	if c.write(frame) != nil {
		c.drop()
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case a := <-answered:
		return a, nil
	case <-c.gone:
	case <-late.C:
		c.drop()
		<-c.gone
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
	select {
	case a := <-answered:
		return a, nil
	default:
		return answer{}, errLost
	}
}

func (c *conn) write(frame []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.ws.SetWriteDeadline(time.Now().Add(writing))
	return c.ws.WriteMessage(websocket.TextMessage, frame)
}
