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
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/backend/protocol"
	"github.com/musterhq/muster/identity"
)

// socket is one WebSocket of a player. Its reader acts on messages, its writer
// sends answers and what changed; the writer alone writes.
type socket struct {
	b    *Backend
	ws   *websocket.Conn
	from netip.Addr
	out  chan protocol.Message // answers

	entered chan struct{} // closed once the player is known
	mu      sync.Mutex    // guards what follows
	token   string
	player  identity.Claims
	resume  string

	ended  chan struct{} // closed when the connection shall end
	once   sync.Once
	code   int
	reason string
}

// end has the connection ended; the first reason counts. It never blocks.
func (c *socket) end(code int, reason string) {
	c.once.Do(func() {
		c.code, c.reason = code, reason
		close(c.ended)
	})
}

// run lives the connection's life.
func (c *socket) run(token, resume string) {
	defer c.b.doors.leave()
	c.b.metrics.socket(1)
	defer c.b.metrics.socket(-1)
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
		c.b.doors.drop(c, who.PlayerID)
	}
}

func (c *socket) who() identity.Claims {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.player
}

// enter takes an access token: the first says who the player is, later ones must
// be the same player's.
func (c *socket) enter(token, resume string) bool {
	claims, err := c.b.ids.Check(token)
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
		c.resume = resume
		c.b.doors.take(c, claims.PlayerID, c.b.Limits.Sockets)
		close(c.entered)
	}
	return true
}

// read acts on messages until the connection fails or shall end.
func (c *socket) read() {
	strikes := 0
	for {
		kind, text, err := c.ws.ReadMessage()
		if err != nil {
			return
		}
		c.ws.SetReadDeadline(time.Now().Add(silentFor))
		if wait := c.b.limiter.take(c.b.rates.message, "socket "+c.key(), time.Now()); wait > 0 {
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

// key names the connection's player, or its network before one is known.
func (c *socket) key() string {
	if who := c.who(); who.PlayerID != "" {
		return who.PlayerID
	}
	return networkOf(c.from)
}

// answer queues a message; who does not read is let go and comes back.
func (c *socket) answer(m protocol.Message) {
	select {
	case c.out <- m:
	default:
		c.end(protocol.CloseRate, "answers are not read")
	}
}

func (c *socket) problem(re string, err error) protocol.Message {
	p, meant := problemOf(err)
	id := newID()
	if !meant {
		c.b.log.Error("message failed", "request_id", id, "error", err)
	}
	return message(protocol.MessageError, re, p.body(id))
}

func message(kind, re string, data any) protocol.Message {
	text, err := json.Marshal(data, json.Deterministic(true))
	if err != nil {
		panic(err) // plain structs
	}
	return protocol.Message{Type: kind, Re: re, Data: jsontext.Value(text)}
}

// handle carries out a message and gives its answer.
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
	who, err := c.b.ids.Check(c.held())
	if err != nil {
		return c.problem(m.ID, err)
	}
	t, err := c.act(ctx, who, m)
	if err != nil {
		return c.problem(m.ID, err)
	}
	return message(protocol.MessageTicket, m.ID, t.out(who.PlayerID))
}

func (c *socket) held() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.token
}

// act carries out a message about matchmaking.
func (c *socket) act(ctx context.Context, who identity.Claims, m *protocol.Message) (*Ticket, error) {
	b := c.b
	if m.Type == protocol.MessageStart {
		var in protocol.TicketRequest
		if err := decodeText(m.Data, &in); err != nil {
			return nil, err
		}
		if wait := b.limiter.take(b.rates.ticket, who.PlayerID, time.Now()); wait > 0 {
			return nil, limited("rate-limited", wait)
		}
		return b.start(ctx, who.PlayerID, who.Scope, &in)
	}
	var in protocol.SocketTicketID
	if err := decodeText(m.Data, &in); err != nil {
		return nil, err
	}
	t, err := b.ticketOf(who.PlayerID, in.TicketID)
	if err != nil {
		return nil, err
	}
	switch m.Type {
	case protocol.MessageCancel:
		return b.cancel(ctx, t)
	case protocol.MessageAccept:
		return b.reply(ctx, t, who.PlayerID, in.Accept)
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
	return protocol.Message{} // the writer says auth.ok before all else
}

func (c *socket) readyMessage(re string, resumed bool) protocol.Message {
	who := c.who()
	return message(protocol.MessageReady, re, &protocol.SocketReady{PlayerID: who.PlayerID, ExpiresAt: who.Expires, Resumed: resumed})
}

var errEnded = errors.New("the connection shall end")

// write says who the player is, what is under way, and then what changes.
func (c *socket) write() {
	early, err := c.open()
	if err == nil {
		err = c.push(early)
	}
	if errors.Is(err, errEnded) {
		text := websocket.FormatCloseMessage(c.code, c.reason)
		c.ws.WriteControl(websocket.CloseMessage, text, time.Now().Add(writeWithin))
	}
	c.ws.Close() // has the reader return
}

// open waits for the player to be known. An answer that was ready at the same
// time is to come after what is under way: it is given back.
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
		case <-c.b.closing:
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
	watcher, stop := c.b.hub.watch(player)
	defer stop()
	cursor := c.resume
	if err := c.send(c.readyMessage("", cursor != "")); err != nil {
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
		case <-watcher.nudge:
			err = c.changes(player, &cursor)
		case m := <-c.out:
			err = c.send(m)
		case <-ping.C:
			err = c.tick(&warned)
		case <-c.b.closing:
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

// flush sends what is queued before the connection ends.
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

// tick keeps the connection alive, ends it with the player's login, and warns
// once before the access token expires.
func (c *socket) tick(warned *string) error {
	token := c.held()
	claims, err := c.b.ids.Check(token)
	if err != nil {
		c.end(protocol.CloseUnauthorized, "the login has ended")
		return nil
	}
	if time.Until(claims.Expires) < warnBefore && *warned != token {
		*warned = token
		if err := c.send(message(protocol.MessageExpiring, "", map[string]int64{"in_seconds": seconds(time.Until(claims.Expires))})); err != nil {
			return err
		}
	}
	return c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeWithin))
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

// changed is a row that a player is told of.
type changed struct {
	at   string // its Change
	kind string
	data any
}

// changes sends the rows of the player that changed since the cursor, in the
// order they changed; without a cursor, those that are not over.
func (c *socket) changes(player string, cursor *string) error {
	rows, newest := c.b.changedSince(player, *cursor)
	for _, row := range rows {
		m := message(row.kind, "", row.data)
		m.Cursor = row.at
		if err := c.send(m); err != nil {
			return err
		}
	}
	*cursor = max(*cursor, newest, "0") // what ended before is no news later either
	return nil
}

// changedSince gives the rows of a player that a connection has to be told of,
// and the newest change of all of them.
func (b *Backend) changedSince(player, cursor string) (rows []changed, newest string) {
	view, now := b.st.View(), time.Now()
	add := func(at, kind string, over bool, data func() any) {
		newest = max(newest, at)
		if at > cursor && (cursor != "" || !over) {
			rows = append(rows, changed{at, kind, data()})
		}
	}
	for t := range b.t.ticketsOf.Equal(view, player) {
		add(t.Change, protocol.MessageTicket, over(t.Found.State), func() any { return t.out(player) })
	}
	for p := range b.t.partiesOf.Equal(view, player) {
		add(p.Change, protocol.MessageParty, false, func() any { return p.out(now) })
	}
	for p := range b.t.placingsOf.Equal(view, player) {
		add(p.Change, protocol.MessagePlacement, p.over(), func() any { return p.out() })
	}
	slices.SortFunc(rows, func(a, b changed) int { return strings.Compare(a.at, b.at) })
	return rows, newest
}
