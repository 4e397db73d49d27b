package backend

import (
	"context"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/lobby"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

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

// answer queues a message. A client that does not read is disconnected, to come back.
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
		c.of.log.Error("message failed", "request_id", id, "error", err)
	}
	return message(protocol.MessageError, re, p.body(id))
}

// handle executes a message and returns its answer.
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
	who, err := c.of.ids.Tokens.Check(c.held())
	if err != nil {
		return c.problem(m.ID, err)
	}
	t, err := c.act(ctx, who, m)
	if err != nil {
		return c.problem(m.ID, err)
	}
	return message(protocol.MessageTicket, m.ID, ticketOut(c.of.lobby.Tickets, t, who.PlayerID))
}

// act executes a message about matchmaking.
func (c *socket) act(ctx context.Context, who identity.Claims, m *protocol.Message) (*lobby.Ticket, error) {
	tickets, rates := c.of.lobby.Tickets, c.of.rates
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
	t, err := tickets.Ticket(who.PlayerID, in.TicketID)
	if err != nil {
		return nil, err
	}
	switch m.Type {
	case protocol.MessageCancel:
		return tickets.Cancel(ctx, t)
	case protocol.MessageAccept:
		return tickets.Answer(ctx, t, who.PlayerID, in.Accept)
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
