package backend

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/tracing"
	"github.com/musterhq/muster/lobby"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// socket is one WebSocket of a player. What is to be written is queued or marked as due;
// one goroutine at a time writes it, and ends when nothing is left. Each message is executed
// in a goroutine of its own, too. So an idle connection has only the goroutine that reads,
// whose stack has stayed small. The reader writes nothing, not even pongs, but for the close
// frame after a message that breaks the protocol.
type socket struct {
	of   *sockets
	ws   *websocket.Conn
	raw  syscall.RawConn // of the socket below ws; nil if pings cannot be written to it directly
	from netip.Addr

	spans   *tracing.Connection // of messages; nil: there are none
	known   func()              // records that the connection's player is known; nil once it is
	timeout *time.Timer         // ends the connection unless its player becomes known; may be nil

	mu      sync.Mutex       // guards what follows
	access  *identity.Access // nil until the player is known
	answers []outgoing
	due     due
	writing bool // a goroutine is writing
	closed  bool // nothing is written any more
	doubted bool // the reader has a deadline, because the client has been silent
	code    int  // of the close frame, once the connection is to end
	reason  string
	echo    string        // the data of the last ping from the client, for the pong
	heard   time.Duration // when the client last sent a message or a pong, by the door's clock
	writer  sync.WaitGroup

	// Used only by the writer, which first runs for changes when become has set cursor.
	cursor  string
	inParty bool             // as the client knows
	warned  *identity.Access // the token of which the client knows that it will expire

	// Guarded by the door's mu.
	place    *list.Element // in its pings
	nextPing time.Duration // by the door's clock
}

// due is a set of what is to be written besides answers.
type due uint8

const (
	greeting due = 1 << iota // the player's identity, and the rows that have not ended
	changes                  // rows that have changed
	ping
	pong    // the answer to a ping from the client
	closing // the close frame
)

// outgoing is a protocol.Message to a client, with its data not encoded yet.
type outgoing struct {
	Type   string `json:"type"`
	Re     string `json:"re,omitzero"`
	Cursor string `json:"cursor,omitzero"`
	Data   any    `json:"data,omitzero"`
}

// end makes the connection end; the first reason is used. It never blocks.
func (c *socket) end(code int, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.code == 0 {
		c.code, c.reason = code, reason
		c.writeLater(closing)
	}
}

// notify marks something as due. It never blocks.
func (c *socket) notify(d due) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.access != nil { // otherwise the greeting will include it
		c.writeLater(d)
	}
}

// writeLater marks something as due, and has it written. The caller must hold mu.
func (c *socket) writeLater(d due) {
	if c.mark(d) {
		go c.write()
	}
}

// mark marks something as due, and reports whether the caller must have write called. The
// caller must hold mu.
func (c *socket) mark(d due) bool {
	if c.closed {
		return false
	}
	c.due |= d
	if c.writing {
		return false
	}
	c.writing = true
	c.writer.Add(1)
	return true
}

// run reads until the connection ends.
func (c *socket) run() {
	c.read()
	c.end(websocket.CloseNormalClosure, "")
	c.writer.Wait()
	if player := c.of.door.remove(c); player != "" {
		c.of.left(player)
	}
	c.of.metrics.sockets.Dec()
}

// held returns the connection's access token, or nil before the player is known.
func (c *socket) held() *identity.Access {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.access
}

// key returns the connection's player, or its network before the player is known.
func (c *socket) key() string {
	if a := c.held(); a != nil {
		return a.PlayerID()
	}
	return networkOf(c.from)
}

// enter uses an access token: the first determines the player, later ones must be the
// same player's. It returns after the player has been greeted.
func (c *socket) enter(a *identity.Access, resume string) bool {
	if _, err := c.of.Identity.Tokens.Current(a); err != nil {
		c.end(protocol.CloseUnauthorized, "the access token is not good")
		return false
	}
	before := c.held()
	if before != nil && before.PlayerID() != a.PlayerID() {
		c.end(protocol.CloseUnauthorized, "the access token is another player's")
		return false
	}
	if before == nil {
		c.become(a, resume)
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.access = a
	return true
}

// become makes the connection its player's, and greets the player.
func (c *socket) become(a *identity.Access, resume string) {
	if c.known != nil {
		c.known()
		c.known = nil // it refers to the request
	}
	if c.timeout != nil {
		c.timeout.Stop()
	}
	c.mu.Lock()
	c.access, c.cursor = a, resume
	write := c.mark(greeting) // before a change can be due
	c.mu.Unlock()
	c.of.door.take(c, a.PlayerID(), c.of.config.Limits.Sockets)
	c.of.absent.end(a.PlayerID())
	if write {
		c.write()
		return
	}
	c.notify(changes) // another goroutine may have greeted before the door knew the player
}

// read executes messages until the connection fails or is to end.
func (c *socket) read() {
	strikes := 0
	for {
		kind, text, err := c.ws.ReadMessage()
		if err != nil {
			return
		}
		goOn := make(chan bool)
		go func() { goOn <- c.receive(kind, text, &strikes) }()
		if !<-goOn {
			return
		}
		c.hear()
	}
}

// receive executes a message, and reports whether to read more.
func (c *socket) receive(kind int, text []byte, strikes *int) bool {
	if c.of.rates.take(c.of.rates.message, "socket "+c.key()) != nil {
		c.end(protocol.CloseRate, "too many messages")
		return false
	}
	var m protocol.Message
	err := error(errBinary)
	if kind == websocket.TextMessage {
		err = decodeText(text, &m, "")
	}
	if err == nil {
		c.answer(c.traced(&m))
		return true
	}
	if *strikes++; *strikes == mostStrikes {
		c.end(protocol.CloseBadMessage, "messages that cannot be read")
		return false
	}
	c.answer(c.problem("", err))
	return true
}

var errBinary = refuse("malformed-json", "a message is a text frame")

// answer queues a message, if it has a type, and writes it if no other goroutine writes. A
// client that does not read is disconnected.
func (c *socket) answer(m outgoing) {
	if m.Type == "" {
		return
	}
	c.mu.Lock()
	full := len(c.answers) >= outQueue
	if !full {
		c.answers = append(c.answers, m)
	}
	write := c.mark(0)
	c.mu.Unlock()
	if full {
		c.end(protocol.CloseRate, "answers are not read")
	}
	if write {
		c.write()
	}
}

func (c *socket) problem(re string, err error) outgoing {
	p, meant := refusalOf(err)
	id := newID()
	if !meant {
		c.of.log.Error("message failed", "request_id", id, "error", err)
	}
	return outgoing{Type: protocol.MessageError, Re: re, Data: problemBody(p, id)}
}

func (c *socket) handle(ctx context.Context, m *protocol.Message) outgoing {
	if m.Type == protocol.MessageAuth {
		return c.auth(m)
	}
	access := c.held()
	if access == nil {
		return c.problem(m.ID, refuse("token-missing", "the first message is auth"))
	}
	if m.Type == protocol.MessagePing {
		pong := outgoing{Type: protocol.MessagePong, Re: m.ID}
		if m.Data != nil {
			pong.Data = m.Data
		}
		return pong
	}
	who, err := c.of.Identity.Tokens.Current(access)
	if err != nil {
		return c.problem(m.ID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	t, err := c.act(ctx, who, m)
	if err != nil {
		return c.problem(m.ID, err)
	}
	return outgoing{Type: protocol.MessageTicket, Re: m.ID, Data: ticketOut(c.of.Lobby.Tickets, t, who.PlayerID, c.from)}
}

// act executes a message about matchmaking.
func (c *socket) act(ctx context.Context, who identity.Claims, m *protocol.Message) (*lobby.Ticket, error) {
	tickets, rates := c.of.Lobby.Tickets, c.of.rates
	switch m.Type {
	case protocol.MessageStart:
		var in protocol.TicketRequest
		if err := readData(m, &in); err != nil {
			return nil, err
		}
		if err := rates.take(rates.ticket, who.PlayerID); err != nil {
			return nil, err
		}
		return tickets.Start(ctx, who.PlayerID, who.Scope, matchRequest(&in))
	case protocol.MessageCancel, protocol.MessageAccept:
		var in protocol.SocketTicketID
		if err := readData(m, &in); err != nil {
			return nil, err
		}
		if m.Type == protocol.MessageCancel {
			return tickets.Cancel(ctx, who.PlayerID, in.TicketID)
		}
		return tickets.Answer(ctx, who.PlayerID, in.TicketID, in.Accept)
	}
	return nil, refuse("invalid-parameter", fmt.Sprintf("/type: %.40q is no message of a client; those are %s", m.Type, clientMessages))
}

// clientMessages are the types of messages that clients send, for texts.
var clientMessages = strings.Join([]string{
	protocol.MessageAuth, protocol.MessagePing, protocol.MessageStart, protocol.MessageCancel, protocol.MessageAccept,
}, ", ")

// readData decodes the data of a message.
func readData(m *protocol.Message, into any) error {
	if len(m.Data) == 0 {
		return refuse("malformed-json", "/data: "+m.Type+" needs data")
	}
	return decodeText(m.Data, into, "/data")
}

func (c *socket) auth(m *protocol.Message) outgoing {
	var in protocol.SocketAuth
	if err := readData(m, &in); err != nil {
		return c.problem(m.ID, err)
	}
	access, err := c.of.Identity.Tokens.Verify(in.AccessToken)
	if err != nil {
		c.end(protocol.CloseUnauthorized, "the access token is not good")
	}
	again := c.held() != nil
	if err != nil || !c.enter(access, in.Resume) {
		return c.problem(m.ID, refuse("token-invalid", "the access token is not good"))
	}
	if again {
		return readyMessage(m.ID, access, true)
	}
	return outgoing{} // the player was greeted
}

var errEnded = errors.New("the connection shall end")

// write writes what is due until nothing is. Nothing is written after an error.
func (c *socket) write() {
	defer c.writer.Done()
	for {
		answers, d := c.take()
		if d == 0 && len(answers) == 0 {
			return
		}
		if err := c.writeAll(answers, d); err != nil {
			c.shut()
			return
		}
	}
}

// take takes what is to be written. If it is nothing, the writer must end.
func (c *socket) take() (answers []outgoing, d due) {
	c.mu.Lock()
	defer c.mu.Unlock()
	answers, d = c.answers, c.due
	c.answers, c.due = nil, 0
	c.writing = d != 0 || len(answers) > 0
	return answers, d
}

// shut closes the connection, so that the reader returns. It closes without mu, because a
// close over TLS waits for a client that does not read.
func (c *socket) shut() {
	c.mu.Lock()
	c.closed, c.writing, c.answers = true, false, nil
	c.mu.Unlock()
	c.ws.Close()
}

// writeAll writes what is due. The greeting comes before answers that are ready by then, so
// they show the client that it has received everything.
func (c *socket) writeAll(answers []outgoing, d due) error {
	ends := d&closing != 0
	if d&greeting != 0 && !ends {
		if err := c.greet(); err != nil {
			return err
		}
	}
	for _, m := range answers {
		if err := c.send(m); err != nil {
			return err
		}
	}
	switch {
	case ends:
		text := websocket.FormatCloseMessage(c.code, c.reason)
		c.ws.WriteControl(websocket.CloseMessage, text, time.Now().Add(writeWithin))
		return errEnded
	case d&pong != 0:
		if err := c.answerPing(); err != nil {
			return err
		}
	}
	if d&(changes|ping) != 0 {
		return c.update(d)
	}
	return nil
}

// greet sends the player's identity, and then the rows that have not ended or, if the
// client resumes, those that have changed.
func (c *socket) greet() error {
	resumes := c.cursor != ""
	c.cursor, c.inParty = strings.CutSuffix(c.cursor, partyMark)
	access := c.held()
	if err := c.send(readyMessage("", access, resumes)); err != nil {
		return err
	}
	return c.sendNews(access.PlayerID())
}

// update sends changes, and keeps the connection alive. It ends the connection instead if
// the player's login has ended, and warns once before the access token expires.
func (c *socket) update(d due) error {
	access := c.held()
	if !c.stillIn(access) {
		return nil
	}
	if d&changes != 0 {
		if err := c.sendNews(access.PlayerID()); err != nil {
			return err
		}
	}
	if d&ping == 0 {
		return nil
	}
	if left, warn := c.expiring(access); warn {
		c.warned = access
		if err := c.send(outgoing{Type: protocol.MessageExpiring, Data: &protocol.SocketExpiring{InSeconds: seconds(left)}}); err != nil {
			return err
		}
	}
	return c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeWithin))
}

// expiring returns how long an access token is still valid, and whether the client is to be
// warned of its end.
func (c *socket) expiring(a *identity.Access) (left time.Duration, warn bool) {
	left = time.Until(a.Expires())
	return left, left < warnBefore && c.warned != a
}

// stillIn reports whether the player's login is still valid, and otherwise ends the
// connection.
func (c *socket) stillIn(a *identity.Access) bool {
	_, err := c.of.Identity.Tokens.Current(a)
	if err != nil {
		c.end(protocol.CloseUnauthorized, "the login has ended")
	}
	return err == nil
}

func readyMessage(re string, a *identity.Access, resumed bool) outgoing {
	return outgoing{Type: protocol.MessageReady, Re: re, Data: &protocol.SocketReady{PlayerID: a.PlayerID(), ExpiresAt: a.Expires(), Resumed: resumed}}
}

func (c *socket) send(m outgoing) error {
	text, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		return err
	}
	c.ws.SetWriteDeadline(time.Now().Add(writeWithin))
	return c.ws.WriteMessage(websocket.TextMessage, text)
}

// changed is a changed row that a player is to be sent.
type changed struct {
	at   string // its Change
	kind string
	data any
}

func (c *socket) sendNews(player string) error {
	for _, m := range c.news(player, &c.cursor) {
		if err := c.send(m); err != nil {
			return err
		}
	}
	return nil
}

// news returns the rows of the player that changed since the cursor, in the order of
// their changes; without a cursor, those that have not ended. It moves the cursor.
func (c *socket) news(player string, cursor *string) (all []outgoing) {
	rows, newest, inParty := c.of.changedSince(player, *cursor, c.from)
	for _, row := range rows {
		c.inParty = c.inParty || row.kind == protocol.MessageParty
		all = append(all, outgoing{Type: row.kind, Cursor: c.cursorAt(row.at), Data: row.data})
	}
	*cursor = max(*cursor, newest, "0") // so that rows that ended before are not sent later
	if c.inParty && !inParty {
		c.inParty = false // the row that would report it no longer exists
		all = append(all, outgoing{Type: protocol.MessagePartyLeft, Cursor: c.cursorAt(*cursor)})
	}
	return all
}

// partyMark is the suffix of cursors of clients that know that they are in a party.
const partyMark = ".party"

func (c *socket) cursorAt(change string) string {
	if c.inParty {
		return change + partyMark
	}
	return change
}

// changedSince returns the rows of a player that are to be sent on a connection, the
// newest change of all rows, and whether the player is in a party.
func (s *sockets) changedSince(player, cursor string, client netip.Addr) (rows []changed, newest string, inParty bool) {
	view, now := s.Store.View(), time.Now()
	add := func(at, kind string, over bool, data func() any) {
		newest = max(newest, at)
		if at > cursor && (cursor != "" || !over) {
			rows = append(rows, changed{at, kind, data()})
		}
	}
	for t := range s.Lobby.Tickets.Of(view, player) {
		add(t.Change, protocol.MessageTicket, t.Over(), func() any { return ticketOut(s.Lobby.Tickets, t, player, client) })
	}
	if p := s.Lobby.Parties.Of(view, player); p != nil {
		inParty = true
		add(p.Change, protocol.MessageParty, false, func() any { return partyOut(p, now) })
	}
	for p := range s.Lobby.Placements.Of(view, player) {
		add(p.Change, protocol.MessagePlacement, p.Over(), func() any { return placementOut(p, client) })
	}
	slices.SortFunc(rows, func(a, b changed) int { return strings.Compare(a.at, b.at) })
	return rows, newest, inParty
}
