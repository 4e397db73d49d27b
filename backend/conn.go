package backend

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/lobby"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// socket is one WebSocket of a player. Its reader executes messages; its writer sends
// answers and changes, and nothing else writes.
type socket struct {
	of   *sockets
	ws   *websocket.Conn
	from netip.Addr
	out  chan protocol.Message // answers

	known   func()        // records that the connection's player is known
	entered chan struct{} // closed once the player is known
	mu      sync.Mutex    // guards token, player and resume
	token   string
	player  identity.Claims
	resume  string

	inParty bool // as the client knows; used only by the writer

	ended  chan struct{} // closed when the connection is to end
	once   sync.Once
	code   int
	reason string
}

// end makes the connection end; the first reason is used. It never blocks.
func (c *socket) end(code int, reason string) {
	c.once.Do(func() {
		c.code, c.reason = code, reason
		close(c.ended)
	})
}

func (c *socket) run(token, resume string) {
	defer c.of.door.leave()
	c.of.metrics.sockets.Inc()
	defer c.of.metrics.sockets.Dec()
	defer c.ws.Close()
	c.ws.SetReadLimit(maxMessage)
	c.ws.SetReadDeadline(time.Now().Add(silentFor))
	c.ws.SetPongHandler(func(string) error { return c.ws.SetReadDeadline(time.Now().Add(silentFor)) })
	if token != "" {
		c.enter(token, resume)
	}
	done := make(chan struct{})
	go func() { defer close(done); c.write() }()
	c.read()
	c.end(websocket.CloseNormalClosure, "")
	<-done
	if who := c.who(); who.PlayerID != "" {
		c.of.door.drop(c, who.PlayerID)
	}
}

func (c *socket) who() identity.Claims {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.player
}

func (c *socket) held() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.token
}

// key returns the connection's player, or its network before the player is known.
func (c *socket) key() string {
	if who := c.who(); who.PlayerID != "" {
		return who.PlayerID
	}
	return networkOf(c.from)
}

// enter uses an access token: the first determines the player, later ones must be the
// same player's.
func (c *socket) enter(token, resume string) bool {
	claims, err := c.of.Identity.Tokens.Check(token)
	if err != nil {
		c.end(protocol.CloseUnauthorized, "the access token is not good")
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.player.PlayerID == ""
	if !first && c.player.PlayerID != claims.PlayerID {
		c.end(protocol.CloseUnauthorized, "the access token is another player's")
		return false
	}
	c.token, c.player = token, claims
	if first {
		c.known()
		c.resume = resume
		c.of.door.take(c, claims.PlayerID, c.of.config.Limits.Sockets)
		close(c.entered)
	}
	return true
}

// read executes messages until the connection fails or is to end.
func (c *socket) read() {
	strikes := 0
	for {
		kind, text, err := c.ws.ReadMessage()
		if err != nil {
			return
		}
		c.ws.SetReadDeadline(time.Now().Add(silentFor))
		if c.of.rates.take(c.of.rates.message, "socket "+c.key()) != nil {
			c.end(protocol.CloseRate, "too many messages")
			return
		}
		var m protocol.Message
		if kind != websocket.TextMessage || decodeText(text, &m) != nil {
			strikes++
			if strikes == mostStrikes {
				c.end(protocol.CloseBadMessage, "messages that cannot be read")
				return
			}
			c.answer(c.problem("", refuse("malformed-json", "the message is not of the form described")))
			continue
		}
		c.answer(c.handle(&m))
	}
}

// answer queues a message. A client that does not read is disconnected.
func (c *socket) answer(m protocol.Message) {
	select {
	case c.out <- m:
	default:
		c.end(protocol.CloseRate, "answers are not read")
	}
}

func (c *socket) problem(re string, err error) protocol.Message {
	p, meant := refusalOf(err)
	id := newID()
	if !meant {
		c.of.log.Error("message failed", "request_id", id, "error", err)
	}
	return envelope(protocol.MessageError, re, problemBody(p, id))
}

func (c *socket) handle(m *protocol.Message) protocol.Message {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if m.Type == protocol.MessageAuth {
		return c.auth(m)
	}
	who := c.who()
	if who.PlayerID == "" {
		return c.problem(m.ID, refuse("token-missing", "the first message is auth"))
	}
	if m.Type == protocol.MessagePing {
		return protocol.Message{Type: protocol.MessagePong, Re: m.ID, Data: m.Data}
	}
	who, err := c.of.Identity.Tokens.Check(c.held())
	if err != nil {
		return c.problem(m.ID, err)
	}
	t, err := c.act(ctx, who, m)
	if err != nil {
		return c.problem(m.ID, err)
	}
	return envelope(protocol.MessageTicket, m.ID, ticketOut(c.of.Lobby.Tickets, t, who.PlayerID))
}

// act executes a message about matchmaking.
func (c *socket) act(ctx context.Context, who identity.Claims, m *protocol.Message) (*lobby.Ticket, error) {
	tickets, rates := c.of.Lobby.Tickets, c.of.rates
	if m.Type == protocol.MessageStart {
		var in protocol.TicketRequest
		if err := decodeText(m.Data, &in); err != nil {
			return nil, err
		}
		if err := rates.take(rates.ticket, who.PlayerID); err != nil {
			return nil, err
		}
		return tickets.Start(ctx, who.PlayerID, who.Scope, matchRequest(&in))
	}
	var in protocol.SocketTicketID
	if err := decodeText(m.Data, &in); err != nil {
		return nil, err
	}
	switch m.Type {
	case protocol.MessageCancel:
		return tickets.Cancel(ctx, who.PlayerID, in.TicketID)
	case protocol.MessageAccept:
		return tickets.Answer(ctx, who.PlayerID, in.TicketID, in.Accept)
	}
	return nil, refuse("invalid-parameter", "type: "+m.Type+" is not known")
}

func (c *socket) auth(m *protocol.Message) protocol.Message {
	var in protocol.SocketAuth
	if err := decodeText(m.Data, &in); err != nil {
		return c.problem(m.ID, err)
	}
	again := c.who().PlayerID != ""
	if !c.enter(in.AccessToken, in.Resume) {
		return c.problem(m.ID, refuse("token-invalid", "the access token is not good"))
	}
	if again {
		return c.readyMessage(m.ID, true)
	}
	return protocol.Message{} // the writer sends auth.ok before anything else
}

var errEnded = errors.New("the connection shall end")

// write sends the player's identity, then the rows that have not ended, and then changes.
func (c *socket) write() {
	early, err := c.open()
	if err == nil {
		err = c.push(early)
	}
	if errors.Is(err, errEnded) {
		text := websocket.FormatCloseMessage(c.code, c.reason)
		c.ws.WriteControl(websocket.CloseMessage, text, time.Now().Add(writeWithin))
	}
	c.ws.Close() // makes the reader return
}

// open waits until the player is known. An answer that is ready by then must be sent
// after the rows that have not ended, so open returns it.
func (c *socket) open() (early protocol.Message, err error) {
	timer := time.NewTimer(authWithin)
	defer timer.Stop()
	for {
		select {
		case <-c.entered:
			return early, nil
		case m := <-c.out:
			if c.who().PlayerID != "" {
				return m, nil
			}
			if err := c.send(m); err != nil { // a refusal
				return early, err
			}
		case <-timer.C:
			c.end(protocol.CloseAuthTimeout, "no auth in time")
		case <-c.of.hub.closing:
			c.end(websocket.CloseGoingAway, "the server stops")
		case <-c.ended:
			c.flush()
			return early, errEnded
		}
	}
}

// push sends answers and changes until the connection ends; early is the first
// answer, if it has a type.
func (c *socket) push(early protocol.Message) error {
	player := c.who().PlayerID
	watcher, stop := c.of.hub.watch(player)
	defer stop()
	var cursor string
	cursor, c.inParty = strings.CutSuffix(c.resume, partyMark)
	if err := c.send(c.readyMessage("", c.resume != "")); err != nil {
		return err
	}
	if err := c.changes(player, &cursor); err != nil {
		return err
	}
	if err := c.send(early); err != nil {
		return err
	}
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	warned := ""
	for {
		var err error
		select {
		case <-watcher:
			if _, in := c.stillIn(); in {
				err = c.changes(player, &cursor)
			}
		case m := <-c.out:
			err = c.send(m)
		case <-ping.C:
			err = c.tick(&warned)
		case <-c.of.hub.closing:
			c.end(websocket.CloseGoingAway, "the server stops; come back")
		case <-c.ended:
			c.flush()
			return errEnded
		}
		if err != nil {
			return err
		}
	}
}

func (c *socket) flush() {
	for {
		select {
		case m := <-c.out:
			if c.send(m) != nil {
				return
			}
		default:
			return
		}
	}
}

// stillIn reports whether the player's login is still valid, and otherwise ends the
// connection.
func (c *socket) stillIn() (identity.Claims, bool) {
	claims, err := c.of.Identity.Tokens.Check(c.held())
	if err != nil {
		c.end(protocol.CloseUnauthorized, "the login has ended")
	}
	return claims, err == nil
}

// tick keeps the connection alive, ends it when the player's login has ended, and warns
// once before the access token expires.
func (c *socket) tick(warned *string) error {
	token := c.held()
	claims, in := c.stillIn()
	if !in {
		return nil
	}
	if time.Until(claims.Expires) < warnBefore && *warned != token {
		*warned = token
		if err := c.send(envelope(protocol.MessageExpiring, "", map[string]int64{"in_seconds": seconds(time.Until(claims.Expires))})); err != nil {
			return err
		}
	}
	return c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeWithin))
}

func (c *socket) readyMessage(re string, resumed bool) protocol.Message {
	who := c.who()
	return envelope(protocol.MessageReady, re, &protocol.SocketReady{PlayerID: who.PlayerID, ExpiresAt: who.Expires, Resumed: resumed})
}

func envelope(kind, re string, data any) protocol.Message {
	text, err := json.Marshal(data, json.Deterministic(true))
	if err != nil {
		panic(err) // plain structs
	}
	return protocol.Message{Type: kind, Re: re, Data: protocol.JSON(text)}
}

func (c *socket) send(m protocol.Message) error {
	if m.Type == "" {
		return nil
	}
	text, err := json.Marshal(m)
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

func (c *socket) changes(player string, cursor *string) error {
	for _, m := range c.news(player, cursor) {
		if err := c.send(m); err != nil {
			return err
		}
	}
	return nil
}

// news returns the rows of the player that changed since the cursor, in the order of
// their changes; without a cursor, those that have not ended. It moves the cursor.
func (c *socket) news(player string, cursor *string) (all []protocol.Message) {
	rows, newest, inParty := c.of.changedSince(player, *cursor)
	for _, row := range rows {
		c.inParty = c.inParty || row.kind == protocol.MessageParty
		m := envelope(row.kind, "", row.data)
		m.Cursor = c.cursorAt(row.at)
		all = append(all, m)
	}
	*cursor = max(*cursor, newest, "0") // so that rows that ended before are not sent later
	if c.inParty && !inParty {
		c.inParty = false // the row that would report it no longer exists
		all = append(all, protocol.Message{Type: protocol.MessagePartyLeft, Cursor: c.cursorAt(*cursor)})
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
func (s *sockets) changedSince(player, cursor string) (rows []changed, newest string, inParty bool) {
	view, now := s.Store.View(), time.Now()
	add := func(at, kind string, over bool, data func() any) {
		newest = max(newest, at)
		if at > cursor && (cursor != "" || !over) {
			rows = append(rows, changed{at, kind, data()})
		}
	}
	for t := range s.Lobby.Tickets.Of(view, player) {
		add(t.Change, protocol.MessageTicket, t.Over(), func() any { return ticketOut(s.Lobby.Tickets, t, player) })
	}
	if p := s.Lobby.Parties.Of(view, player); p != nil {
		inParty = true
		add(p.Change, protocol.MessageParty, false, func() any { return partyOut(p, now) })
	}
	for p := range s.Lobby.Placements.Of(view, player) {
		add(p.Change, protocol.MessagePlacement, p.Over(), func() any { return placementOut(p) })
	}
	slices.SortFunc(rows, func(a, b changed) int { return strings.Compare(a.at, b.at) })
	return rows, newest, inParty
}
