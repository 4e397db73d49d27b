package backend

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/door"
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

// socketDoor tracks the connections, and admits new ones.
type socketDoor struct {
	mu      sync.Mutex
	tickets map[string]socketGrant // by hash
	of      map[string][]*socket   // by player, in order of arrival
	all     int
	closed  bool // no more connections are admitted
	running sync.WaitGroup
}

type socketGrant struct {
	token   string // the access token it stands for
	from    string // the network it must come from
	expires time.Time
}

func newSocketDoor() *socketDoor {
	return &socketDoor{tickets: map[string]socketGrant{}, of: map[string][]*socket{}}
}

// close admits no more connections, and waits until all have ended or ctx is done.
func (d *socketDoor) close(ctx context.Context) {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	ended := make(chan struct{})
	go func() { d.running.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// issue returns a ticket for one WebSocket, or an error if there are too many.
func (d *socketDoor) issue(token, from string, now time.Time) (ticket string, err error) {
	ticket = "wt_" + identity.NewSecret()
	d.mu.Lock()
	defer d.mu.Unlock()
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
	d.tickets[identity.Digest(ticket)] = socketGrant{token, from, now.Add(socketTicketLife)}
	return ticket, nil
}

// redeem returns the access token that a ticket stands for, and deletes the ticket.
func (d *socketDoor) redeem(ticket, from string, now time.Time) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := identity.Digest(ticket)
	g, known := d.tickets[key]
	delete(d.tickets, key)
	if !known || g.from != from || !g.expires.After(now) {
		return ""
	}
	return g.token
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

func (d *socketDoor) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all--
	d.running.Done()
}

// take assigns a connection to its player; one more than allowed replaces the oldest.
func (d *socketDoor) take(c *socket, player string, most int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	of := append(d.of[player], c)
	if len(of) > most {
		of[0].end(protocol.CloseReplaced, "replaced by a newer connection")
		of = slices.Clone(of[1:])
	}
	d.of[player] = of
}

func (d *socketDoor) drop(c *socket, player string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	of := slices.DeleteFunc(slices.Clone(d.of[player]), func(x *socket) bool { return x == c })
	if len(of) == 0 {
		delete(d.of, player)
		return
	}
	d.of[player] = of
}

type sockets struct {
	*core
	door *socketDoor
}

func (s *sockets) ticket(rq *request) (answer, error) {
	ticket, err := s.door.issue(bearer(rq.http), networkOf(rq.from), time.Now())
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, body: &protocol.SocketTicket{Ticket: ticket, ExpiresIn: int64(socketTicketLife / time.Second)}}, nil
}

// allowedOrigin reports whether a request comes from a program, which sends no Origin, or
// from a page of the server itself or of a site that the configuration names.
func (s *sockets) allowedOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return origin == "" || origin == s.Base || slices.Contains(s.config.now().Origins, origin)
}

func (s *sockets) open(rq *request) (answer, error) {
	r := rq.http
	if !s.allowedOrigin(r) {
		return answer{}, refuse("not-allowed", "Origin: pages of this site may not connect")
	}
	token := bearer(r)
	if ticket := r.URL.Query().Get("ticket"); token == "" && ticket != "" {
		if token = s.door.redeem(ticket, networkOf(rq.from), time.Now()); token == "" {
			return answer{}, refuse("token-invalid", "ticket: used, expired or another client's")
		}
	}
	if token != "" { // a wrong one is refused before the upgrade, so that clients see why
		if _, err := s.Identity.Tokens.Check(token); err != nil {
			return answer{}, err
		}
		door.Known(r)
	}
	if !s.door.enter(s.config.Limits.AllSockets) {
		return answer{}, limited("busy", time.Second)
	}
	upgrader := websocket.Upgrader{
		HandshakeTimeout: writeWithin, ReadBufferSize: 1024, WriteBufferSize: 1024,
		Subprotocols: []string{protocol.Subprotocol}, CheckOrigin: s.allowedOrigin,
		Error: func(w http.ResponseWriter, _ *http.Request, _ int, reason error) {
			writeProblem(w, refuse("invalid-parameter", "this is a WebSocket: "+reason.Error()), rq.id)
		},
	}
	ws, err := upgrader.Upgrade(rq.w, r, door.UpgradeHeader(r))
	if err != nil {
		s.door.leave()
		return answer{}, nil // already answered
	}
	c := &socket{of: s, ws: ws, from: rq.from, out: make(chan protocol.Message, outQueue), ended: make(chan struct{}), entered: make(chan struct{})}
	c.known = func() { door.Known(r) }
	go c.run(token, r.URL.Query().Get("resume"))
	return answer{}, nil
}
