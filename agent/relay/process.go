package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/gameframe"
)

// Limits of what waits for the link, per process.
const (
	maxWaiting      = 256              // requests
	maxWaitingBytes = 8 << 20          // of them
	patience        = 20 * time.Second // for which AWS's SDKs wait for an answer
)

// maxEarly limits the pushes that wait for the connection of a process.
const maxEarly = 32

// maxOpen limits the connections of one process. The SDKs have two while they move to a new
// one.
const maxOpen = 8

// maxAllWaiting limits the bytes of the requests of all processes that wait for the link.
const maxAllWaiting = 128 << 20

// The requests that can be answered without Muster.
const (
	heartbeat = "HeartbeatServerProcess"
	goodbye   = "TerminateServerProcess"
)

// Messages that tell what a process hosts.
const (
	becomesReady = "ActivateServerProcess"
	hostsFrom    = "CreateGameSession"
)

// process is one game server process.
type process struct {
	r        *Relay
	id       string
	token    string
	upstream func() string

	connecting sync.Mutex // held while a connection to Muster is made

	mu      sync.Mutex
	query   url.Values // of its newest connection
	known   bool       // Muster has accepted it once
	down    *down      // its newest connection
	open    []*down    // all of its connections, oldest first
	early   [][]byte   // pushes of Muster, which lets a process in before its connection is there
	up      *stream    // nil while Muster is away
	waiting []request  // not answered yet, oldest first
	held    int        // bytes in waiting
	beat    *request   // the last heartbeat that Muster has not received, nil for none
	told    string     // id of the heartbeat that was repeated to Muster; its answer is dropped
	dropped bool       // Muster closed the stream of the connection being made
	left    bool       // it has sent ProcessEnding
	ready   bool       // it became ready here, so this agent has seen all game sessions since
	hosts   string     // the game session that it was last told to host; "" for none since it became ready
	ended   bool
}

// request is a request that Muster has not answered yet.
type request struct {
	id    string
	frame []byte
	at    time.Time
	keep  bool // until Muster has received it, even if the process no longer waits
}

// head is the part of a frame that is read.
type head struct {
	Action        string
	RequestID     string `json:"RequestId"`
	GameSessionID string `json:"GameSessionId"`
}

// arrive prepares for a connection of the process. The first one needs Muster's
// acceptance; later ones do not wait for it.
func (p *process) arrive(ctx context.Context, query url.Values) error {
	p.mu.Lock()
	p.query, p.dropped = query, false
	known := p.known
	p.mu.Unlock()
	u := p.r.uplink()
	if u == nil {
		if known {
			return nil
		}
		return errNoLink
	}
	err := p.connect(ctx, u)
	if _, no := err.(*refusal); no || !known || err == errDropped {
		return err
	}
	return nil
}

// connect opens the process's stream, unless it has one on this link.
func (p *process) connect(ctx context.Context, u *uplink) error {
	p.connecting.Lock()
	defer p.connecting.Unlock()
	p.mu.Lock()
	if p.up != nil && p.up.u == u || p.ended {
		p.mu.Unlock()
		return nil
	}
	query := maps.Clone(p.query)
	query.Del(protocol.RelayHosts)
	if p.ready {
		query.Set(protocol.RelayHosts, p.hosts)
	}
	p.mu.Unlock()
	token := p.upstream()
	if token == "" {
		return errNoToken
	}
	query.Set("Authorization", token)
	st, err := u.open(ctx, p, query)
	if err != nil {
		return err
	}
	p.mu.Lock()
	if st.dropped {
		p.mu.Unlock()
		return errDropped
	}
	now := time.Now()
	p.forget(func(r request) bool { return !r.keep && now.Sub(r.at) > patience })
	late, beat := slices.Clone(p.waiting), p.beat
	if beat != nil {
		p.told = beat.id
	}
	st.sending.Lock() // requests that come from now on are sent after these
	defer st.sending.Unlock()
	p.known, p.up = true, st
	p.mu.Unlock()
	for _, r := range late {
		if p.tooLarge(r, st.sendNext(r.frame)) != nil {
			return nil // the link is gone again; the rest waits for the next
		}
	}
	if beat != nil && st.sendNext(beat.frame) == nil { // its health may differ from what Muster knows
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.beat == beat {
			p.beat = nil
		}
	}
	return nil
}

// tooLarge refuses a request that is too large for the link, and returns other errors of
// sending it.
func (p *process) tooLarge(r request, err error) error {
	if !errors.Is(err, protocol.ErrTooLarge) {
		return err
	}
	var h head
	_ = json.Unmarshal(r.frame, &h) // it was read before
	if answer := gameframe.Refuse(h.Action, h.RequestID, http.StatusBadRequest, err.Error()); answer != nil {
		p.fromMuster(answer)
	}
	return nil
}

// reconnect brings a process back to Muster on a new link. While Muster does not answer, or what
// to show to it is not known, it tries again, until the link ends.
func (p *process) reconnect(u *uplink) {
	for pause := firstPause; p.wanted(); pause = min(2*pause, longestPause) {
		err := p.connect(context.Background(), u)
		if _, no := err.(*refusal); no || err == errDropped {
			p.r.log.Warn("Muster does not know a process any more", "process_id", p.id, "error", err)
			p.dropDown()
			return
		}
		if err == nil {
			return
		}
		select {
		case <-u.stop:
			return
		case <-time.After(pause):
		}
	}
}

// Pauses of reconnect.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 5 * time.Second
)

// wanted reports whether Muster knows the process, which is there or has a last message for it.
func (p *process) wanted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known && (p.down != nil || p.left) && !p.ended
}

// serve reads the process's frames until its connection ends.
func (p *process) serve(ws *websocket.Conn) {
	d, kept := p.begin(ws)
	if u := p.r.uplink(); u != nil && kept {
		go p.reconnect(u) // the link on which it arrived may have been another one
	}
	for {
		kind, r, err := ws.NextReader()
		if err != nil {
			break
		}
		var frame bytes.Buffer
		err = gameframe.Read(r, &frame)
		if large, is := errors.AsType[*gameframe.TooLarge](err); is {
			p.r.log.Warn("a message of a process is refused", "process_id", p.id, "action", large.Action, "error", err)
			if answer := large.Answer(); answer != nil {
				d.send(answer)
			}
			continue
		}
		if err != nil {
			break
		}
		if kind == websocket.TextMessage {
			p.fromGame(d, frame.Bytes())
		}
	}
	d.drop()
	p.finish(d)
}

// begin makes a connection the process's newest, and reports whether it is not to be dropped.
func (p *process) begin(ws *websocket.Conn) (d *down, kept bool) {
	d = &down{p: p, ws: ws}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = d
	p.open = append(p.open, d)
	for _, frame := range p.early {
		d.send(frame)
	}
	p.early = nil
	kept = !p.dropped && !p.ended
	if !kept {
		d.drop()
	}
	if len(p.open) > maxOpen {
		p.r.log.Warn("a process has too many connections; the oldest is dropped", "process_id", p.id)
		p.open[len(p.open)-maxOpen-1].drop()
	}
	return d, kept
}

// finish forgets a connection that has ended. With the newest one the stream to Muster ends,
// which counts the connections as if they were direct.
func (p *process) finish(d *down) {
	p.mu.Lock()
	var up *stream
	p.open = slices.DeleteFunc(p.open, func(other *down) bool { return other == d })
	if p.down == d {
		p.down = nil
		if !slices.ContainsFunc(p.waiting, func(r request) bool { return r.keep }) {
			up, p.up = p.up, nil
		}
	}
	p.mu.Unlock()
	if up != nil {
		up.close()
	}
}

// fromGame passes a request on, or answers it if Muster is unreachable.
func (p *process) fromGame(d *down, frame []byte) {
	var h head
	if json.Unmarshal(frame, &h) != nil {
		return
	}
	r := request{h.RequestID, frame, time.Now(), h.Action == goodbye}
	waits := true
	if h.Action == goodbye { // before it is accepted here, or Muster knows
		if err := p.r.departed.add(p.id); err != nil {
			p.r.log.Error("the ProcessEnding of a process is not kept for the next agent", "process_id", p.id, "error", err)
		}
	}
	p.mu.Lock()
	up := p.up
	if h.Action == becomesReady {
		p.ready, p.hosts = true, ""
	}
	if h.Action != heartbeat {
		waits = p.wait(r)
		p.left = p.left || h.Action == goodbye
	}
	p.mu.Unlock()
	if up == nil && !waits && h.Action != goodbye {
		if answer := gameframe.Refuse(h.Action, h.RequestID, http.StatusServiceUnavailable, "Muster is not reachable, and too many requests wait for it; try again later"); answer != nil {
			d.send(answer)
		}
		return
	}
	if up != nil && p.tooLarge(r, up.send(frame)) == nil || h.Action != heartbeat && h.Action != goodbye {
		return // a request that was not sent waits for the next link
	}
	if h.Action == heartbeat {
		p.mu.Lock()
		p.beat = &request{id: h.RequestID, frame: frame}
		p.mu.Unlock()
	}
	if answer, err := json.Marshal(map[string]any{"Action": h.Action, "RequestId": h.RequestID, "StatusCode": 200}); err == nil {
		d.send(answer)
	}
}

// wait keeps a request until it is answered, and reports false if too much waits already.
// p.mu must be held.
func (p *process) wait(r request) bool {
	now := time.Now()
	p.forget(func(old request) bool { return old.id == r.id || !old.keep && now.Sub(old.at) > patience })
	n := len(r.frame)
	if p.ended || len(p.waiting) >= maxWaiting || p.held+n > maxWaitingBytes {
		return false
	}
	if p.r.waiting.Add(int64(n)) > maxAllWaiting {
		p.r.waiting.Add(-int64(n))
		return false
	}
	p.waiting = append(p.waiting, r)
	p.held += n
	return true
}

// forget no longer keeps requests. p.mu must be held.
func (p *process) forget(which func(request) bool) {
	p.waiting = slices.DeleteFunc(p.waiting, func(r request) bool {
		if !which(r) {
			return false
		}
		p.held -= len(r.frame)
		p.r.waiting.Add(-int64(len(r.frame)))
		return true
	})
}

// fromMuster passes an answer or a push on.
func (p *process) fromMuster(frame []byte) {
	var h head
	if json.Unmarshal(frame, &h) != nil {
		return
	}
	p.mu.Lock()
	if h.RequestID != "" {
		p.forget(func(r request) bool { return r.id == h.RequestID })
	}
	if h.Action == hostsFrom {
		p.hosts = h.GameSessionID
	}
	d := p.down
	repeated := h.RequestID != "" && h.RequestID == p.told // the process has been answered already
	if d == nil && h.RequestID == "" && !p.ended {
		p.early = append(p.early, frame)
		p.early = p.early[max(0, len(p.early)-maxEarly):]
	}
	p.mu.Unlock()
	if d != nil && !repeated {
		d.send(frame)
	}
}

// closedByMuster closes the process's connection after Muster has closed the stream.
func (p *process) closedByMuster(st *stream) {
	p.mu.Lock()
	st.dropped = true // for connect, if this is not the process's stream yet
	mine := p.up == st
	if mine {
		p.up, p.dropped = nil, true
	}
	p.mu.Unlock()
	if mine {
		p.dropDown()
	}
}

// lostLink records that the stream is gone with its link; the process does not notice.
func (p *process) lostLink(st *stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.up == st {
		p.up = nil
	}
}

// dropDown drops the process's connection without a close frame.
func (p *process) dropDown() {
	p.mu.Lock()
	d := p.down
	p.mu.Unlock()
	if d != nil {
		d.drop()
	}
}

// end closes all connections of a process that has ended.
func (p *process) end() {
	p.mu.Lock()
	p.ended = true
	up := p.up
	p.up, p.early = nil, nil
	p.forget(func(request) bool { return true })
	p.mu.Unlock()
	p.dropDown()
	if up != nil {
		up.close()
	}
}
