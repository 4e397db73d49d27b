package backend

import (
	"errors"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

var errEnded = errors.New("the connection shall end")

// write sends who the player is, then what has not ended, and then what changes.
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
		case <-watcher.nudge:
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

// stillIn reports whether the player's login is still valid, and otherwise ends the
// connection.
func (c *socket) stillIn() (identity.Claims, bool) {
	claims, err := c.of.ids.Tokens.Check(c.held())
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
		if err := c.send(message(protocol.MessageExpiring, "", map[string]int64{"in_seconds": seconds(time.Until(claims.Expires))})); err != nil {
			return err
		}
	}
	return c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeWithin))
}

func (c *socket) readyMessage(re string, resumed bool) protocol.Message {
	who := c.who()
	return message(protocol.MessageReady, re, &protocol.SocketReady{PlayerID: who.PlayerID, ExpiresAt: who.Expires, Resumed: resumed})
}

func message(kind, re string, data any) protocol.Message {
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
