package gameserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/serversdk/protocol"
)

// ErrDisconnected is returned by calls in flight when the socket breaks.
var ErrDisconnected = errors.New("the connection broke before the answer came")

// Process is one game server process. It is safe for concurrent use.
type Process struct {
	opts Options
	url  string
	dial websocket.Dialer

	ctx  context.Context // of the process's life
	quit context.CancelFunc
	done chan struct{} // closed when the process is gone

	started   chan protocol.CreateGameSessionPush
	updated   chan protocol.UpdateGameSessionPush
	terminate chan protocol.TerminateProcessPush
	activated chan string
	returned  chan struct{}

	mu       sync.Mutex // guards what follows
	conn     *websocket.Conn
	connects int
	waiting  map[string]chan answer // by RequestId
	hosted   []string               // game sessions, in the order assigned
	sending  sync.Mutex             // one writer per socket
}

// Launch connects (InitSDK) and starts to maintain the connection. The process is not
// ready yet. It lives until End, Kill or the end of ctx.
func Launch(ctx context.Context, o Options) (*Process, error) {
	o = o.withDefaults()
	p := &Process{
		opts: o, url: o.url(), done: make(chan struct{}), waiting: map[string]chan answer{},
		dial:      websocket.Dialer{HandshakeTimeout: o.Timeout},
		started:   make(chan protocol.CreateGameSessionPush, 64),
		updated:   make(chan protocol.UpdateGameSessionPush, 64),
		terminate: make(chan protocol.TerminateProcessPush, 64),
		activated: make(chan string, 64),
		returned:  make(chan struct{}, 1),
	}
	p.ctx, p.quit = context.WithCancel(ctx)
	conn, err := p.connect()
	if err != nil {
		p.quit()
		return nil, err
	}
	p.attach(conn)
	go p.live(conn)
	return p, nil
}

// Start launches a process and makes it ready for a game session.
func Start(ctx context.Context, o Options) (*Process, error) {
	p, err := Launch(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := p.Ready(ctx); err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

// connect dials once.
func (p *Process) connect() (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(p.ctx, p.opts.Timeout)
	defer cancel()
	conn, response, err := p.dial.DialContext(ctx, p.url, http.Header{"User-Agent": {"gamelift-go-sdk/1.0"}})
	if err != nil {
		return nil, fmt.Errorf("connect process %s: %w%s", p.opts.ProcessID, err, status(response))
	}
	return conn, nil
}

func status(r *http.Response) string {
	if r == nil {
		return ""
	}
	return " (" + r.Status + ")"
}

// live reads until the process ends, over as many connections as needed.
func (p *Process) live(conn *websocket.Conn) {
	defer close(p.done)
	stop := context.AfterFunc(p.ctx, p.Drop)
	defer stop()
	for conn != nil {
		err := p.readAll(conn)
		p.detach(conn)
		p.opts.Logger.Debug("disconnected", "process", p.opts.ProcessID, "error", err)
		if conn = p.reconnect(); conn != nil {
			p.attach(conn)
			select {
			case p.returned <- struct{}{}:
			default:
			}
		}
	}
}

// reconnect retries until it succeeds; it returns nil when the process has ended.
func (p *Process) reconnect() *websocket.Conn {
	for p.ctx.Err() == nil {
		conn, err := p.connect()
		if err == nil {
			return conn
		}
		p.opts.Logger.Debug("cannot reconnect", "process", p.opts.ProcessID, "error", err)
		select {
		case <-p.ctx.Done():
		case <-time.After(p.opts.Retry):
		}
	}
	return nil
}

func (p *Process) attach(conn *websocket.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn = conn
	p.connects++
	if p.ctx.Err() != nil {
		conn.NetConn().Close()
	}
}

// detach closes the socket as the Go SDK does, without a close frame, and fails the
// calls in flight.
func (p *Process) detach(conn *websocket.Conn) {
	conn.NetConn().Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn = nil
	for id, wait := range p.waiting {
		close(wait)
		delete(p.waiting, id)
	}
}

// Drop breaks the connection; the process reconnects.
func (p *Process) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != nil {
		p.conn.NetConn().Close()
	}
}

// Kill ends the process without notice, like a crash.
func (p *Process) Kill() {
	p.quit()
	p.Drop()
}

// Returned returns a channel that receives a value each time the process has
// reconnected.
func (p *Process) Returned() <-chan struct{} { return p.returned }

// Done returns a channel that is closed when the process is gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// ID returns the process's id.
func (p *Process) ID() string { return p.opts.ProcessID }

// Started returns a channel of the game sessions assigned to the process.
func (p *Process) Started() <-chan protocol.CreateGameSessionPush { return p.started }

// Updated returns a channel of the game session updates sent to the process.
func (p *Process) Updated() <-chan protocol.UpdateGameSessionPush { return p.updated }

// Terminated returns a channel of the requests to terminate.
func (p *Process) Terminated() <-chan protocol.TerminateProcessPush { return p.terminate }

// Hosted returns the game sessions assigned to the process so far.
func (p *Process) Hosted() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.hosted)
}

// Connections returns how many times the process has connected.
func (p *Process) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.connects
}

// Activated returns a channel of the game sessions whose activation Muster has
// acknowledged; for a Manual process it receives none.
func (p *Process) Activated() <-chan string { return p.activated }
