package backend

import (
	"container/list"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/tracing"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// Limits of a WebSocket.
const (
	socketTicketLife = 30 * time.Second
	mostTickets      = 100_000
	authWithin       = 5 * time.Second
	pingEvery        = 20 * time.Second
	silentFor        = 45 * time.Second
	writeWithin      = 5 * time.Second
	maxMessage       = 16 << 10
	outQueue         = 64
	warnBefore       = time.Minute
	mostStrikes      = 3
)

// pingStep is for how long pings wait for others that are soon due: one timer serves all
// connections.
const pingStep = 100 * time.Millisecond

// pingBatch is how many connections are taken at a time to be pinged.
const pingBatch = 64

// socketDoor tracks the connections, and admits new ones. While commits are published, its
// mu and that of sockets are locked, so nothing may block while it holds either.
type socketDoor struct {
	granting sync.Mutex             // guards tickets
	tickets  map[string]socketGrant // by hash

	mu      sync.Mutex           // guards what follows
	of      map[string][]*socket // by player, in order of arrival
	pings   *list.List           // of *socket: all connections, the next to be pinged first
	timer   *time.Timer          // of the next ping; nil if there are no connections
	all     int                  // with those that are not upgraded yet
	closed  bool                 // no more connections are admitted
	running sync.WaitGroup

	began time.Time // of the clock
}

type socketGrant struct {
	access  *identity.Access // the access token it stands for
	from    string           // the network it must come from
	expires time.Time
}

func newSocketDoor() *socketDoor {
	return &socketDoor{tickets: map[string]socketGrant{}, of: map[string][]*socket{}, pings: list.New(), began: time.Now()}
}

// clock returns the time since the door was made.
func (d *socketDoor) clock() time.Duration { return time.Since(d.began) }

// close admits no more connections, and waits until all have ended or ctx is done.
func (d *socketDoor) close(ctx context.Context) {
	d.mu.Lock()
	d.closed = true
	for e := d.pings.Front(); e != nil; e = e.Next() {
		e.Value.(*socket).stop()
	}
	d.mu.Unlock()
	ended := make(chan struct{})
	go func() { d.running.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// issue returns a ticket for one WebSocket, or an error if there are too many.
func (d *socketDoor) issue(access *identity.Access, from string, now time.Time) (ticket string, err error) {
	ticket = "wt_" + identity.NewSecret()
	d.granting.Lock()
	defer d.granting.Unlock()
	for key, g := range d.tickets {
		if len(d.tickets) < mostTickets {
			break
		}
		if !g.expires.After(now) {
			delete(d.tickets, key)
		}
	}
	if len(d.tickets) >= mostTickets {
		return "", limited("busy", time.Second)
	}
	d.tickets[identity.Digest(ticket)] = socketGrant{access, from, now.Add(socketTicketLife)}
	return ticket, nil
}

// redeem returns the access token that a ticket stands for, or nil, and deletes the ticket.
func (d *socketDoor) redeem(ticket, from string, now time.Time) *identity.Access {
	d.granting.Lock()
	defer d.granting.Unlock()
	key := identity.Digest(ticket)
	g, known := d.tickets[key]
	delete(d.tickets, key)
	if !known || g.from != from || !g.expires.After(now) {
		return nil
	}
	return g.access
}

// enter counts a connection if there is room for it, and reports whether there is.
func (d *socketDoor) enter(most int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.all >= most {
		return false
	}
	d.all++
	d.running.Add(1)
	return true
}

// leave undoes enter.
func (d *socketDoor) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all--
	d.running.Done()
}

// add adds a connection that has entered.
func (d *socketDoor) add(c *socket) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c.nextPing = d.clock() + pingEvery
	c.place = d.pings.PushBack(c)
	if d.timer == nil {
		d.timer = time.AfterFunc(pingEvery, d.tick)
	}
	if d.closed {
		c.stop()
	}
}

// tick pings the connections whose time has come.
func (d *socketDoor) tick() {
	batch := make([]*socket, 0, pingBatch)
	for more := true; more; {
		now := d.clock()
		batch, more = d.toPing(batch[:0], now)
		for _, c := range batch {
			c.ping(now)
		}
	}
}

// toPing appends connections to be pinged to batch, until it is full. It reports whether
// there may be more; otherwise it sets the timer for the next.
func (d *socketDoor) toPing(batch []*socket, now time.Duration) (all []*socket, more bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for e := d.pings.Front(); e != nil; e = d.pings.Front() {
		c := e.Value.(*socket)
		switch {
		case c.nextPing > now:
			d.timer.Reset(max(pingStep, c.nextPing-now))
			return batch, false
		case len(batch) == cap(batch):
			return batch, true
		}
		c.nextPing = now + pingEvery
		d.pings.MoveToBack(e)
		batch = append(batch, c)
	}
	d.timer = nil
	return batch, false
}

// remove removes a connection that has ended, and undoes enter. It returns the player whose
// last connection this was, or "".
func (d *socketDoor) remove(c *socket) (last string) {
	defer d.leave()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pings.Remove(c.place)
	if c.access == nil {
		return ""
	}
	player := c.access.PlayerID()
	if d.of[player] = slices.DeleteFunc(d.of[player], func(x *socket) bool { return x == c }); len(d.of[player]) > 0 {
		return ""
	}
	delete(d.of, player)
	return player
}

// has reports whether a player has a connection.
func (d *socketDoor) has(player string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.of[player]) > 0
}

// take assigns a connection to its player; one more than allowed replaces the oldest.
func (d *socketDoor) take(c *socket, player string, most int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	of := append(d.of[player], c)
	if len(of) > most {
		of[0].end(protocol.CloseReplaced, "replaced by a newer connection")
		of = slices.Delete(of, 0, 1)
	}
	d.of[player] = of
}

// wake has the changed rows of players sent. It never blocks: it is called while commits
// are published.
func (d *socketDoor) wake(players []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, player := range players {
		for _, c := range d.of[player] {
			c.notify(changes)
		}
	}
}

type sockets struct {
	*core
	door     *socketDoor
	absent   *absences
	upgrader websocket.Upgrader
}

func newSockets(c *core) *sockets {
	s := &sockets{core: c, door: newSocketDoor(), absent: newAbsences()}
	s.upgrader = websocket.Upgrader{
		HandshakeTimeout: writeWithin, ReadBufferSize: 256, WriteBufferSize: 4 << 10, WriteBufferPool: &sync.Pool{},
		Subprotocols: []string{protocol.Subprotocol}, CheckOrigin: s.admits,
		Error: func(w http.ResponseWriter, _ *http.Request, _ int, reason error) {
			writeProblem(w, refuse("invalid-parameter", "this is a WebSocket: "+reason.Error()), w.Header().Get("X-Request-Id"))
		},
	}
	return s
}

func (s *sockets) ticket(rq *request) (answer, error) {
	access, err := s.Identity.Tokens.Verify(bearer(rq.http))
	if err != nil {
		return answer{}, err
	}
	ticket, err := s.door.issue(access, networkOf(rq.from), time.Now())
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, body: &protocol.SocketTicket{Ticket: ticket, ExpiresIn: int64(socketTicketLife / time.Second)}}, nil
}

// access returns the access token of a request or of its ticket, or nil if it has neither. A
// wrong one is refused before the upgrade, so that clients see why.
func (s *sockets) access(rq *request, query url.Values) (a *identity.Access, err error) {
	token, ticket := bearer(rq.http), query.Get("ticket")
	switch {
	case token != "":
		if a, err = s.Identity.Tokens.Verify(token); err != nil {
			return nil, err
		}
	case ticket == "":
		return nil, nil
	default:
		if a = s.door.redeem(ticket, networkOf(rq.from), time.Now()); a == nil {
			return nil, refuse("token-invalid", "ticket: used, expired or another client's")
		}
	}
	if _, err := s.Identity.Tokens.Current(a); err != nil {
		return nil, err
	}
	door.Known(rq.http)
	return a, nil
}

func (s *sockets) open(rq *request) (answer, error) {
	r := rq.http
	query := r.URL.Query()
	access, err := s.access(rq, query)
	if err != nil {
		return answer{}, err
	}
	if !s.door.enter(s.config.Limits.AllSockets) {
		return answer{}, limited("busy", time.Second)
	}
	w := rq.w
	if access != nil { // a greeting follows at once
		w = joining{w}
	}
	ws, err := s.upgrader.Upgrade(w, r, door.UpgradeHeader(r))
	if err != nil {
		s.door.leave()
		return answer{}, nil // already answered
	}
	c := &socket{of: s, ws: ws, raw: rawOf(ws.NetConn()), from: rq.from, spans: tracing.Opened(r.Context(), r.Header), heard: s.door.clock()}
	ws.SetReadLimit(maxMessage)
	c.handleControl()
	s.metrics.sockets.Inc()
	s.door.add(c)
	defer func() { go c.run() }() // not before the player was greeted
	if access != nil {
		c.enter(access, strings.Clone(query.Get("resume"))) // not a part of the request's line, which has the ticket
	} else {
		c.known = func() { door.Known(r) }
		c.timeout = time.AfterFunc(authWithin, func() { c.end(protocol.CloseAuthTimeout, "no auth in time") })
	}
	return answer{}, nil
}

// stop ends the connection because the server stops.
func (c *socket) stop() { c.end(websocket.CloseGoingAway, "the server stops; come back") }
