package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// assembly is an audience that remembers what each of its players was sent.
type assembly struct {
	*audience
	guests []protocol.GuestLogin

	mu      sync.Mutex // guards what follows
	members []member
}

// member is what a player knows from pushes.
type member struct {
	cursor   string          // of the last change
	ticket   protocol.Ticket // as last sent on a change
	at       time.Time       // when that came
	bytes    int             // of that message
	answered bool            // the server has answered a ping on the present connection
	repeats  int             // changes that were sent though the cursor was past them
}

func newAssembly(a *audience) *assembly {
	return &assembly{audience: a, guests: make([]protocol.GuestLogin, a.n), members: make([]member, a.n)}
}

// join creates the account of player i.
func (c *assembly) join(i int) error {
	var s protocol.Session
	err := c.call(i, "POST", "/auth/guest", "", http.StatusCreated, &s)
	c.tokens[i], c.guests[i] = s.AccessToken, protocol.GuestLogin{PlayerID: s.PlayerID, GuestSecret: s.GuestSecret}
	return err
}

// comeBack logs player i in to the account that exists.
func (c *assembly) comeBack(i int) error {
	body, err := json.Marshal(&c.guests[i])
	if err != nil {
		return err
	}
	var s protocol.Session
	err = c.call(i, "POST", "/auth/guest/login", string(body), http.StatusOK, &s)
	c.tokens[i] = s.AccessToken
	return err
}

// connect opens the WebSocket of player i, which may resume after the last change that the
// player knows, and sends a ping: its answer follows what had changed by then.
func (c *assembly) connect(i int, resume bool) error {
	d := websocket.Dialer{ReadBufferSize: 512, WriteBufferSize: 256, Subprotocols: []string{protocol.Subprotocol}, HandshakeTimeout: time.Minute}
	c.mu.Lock()
	c.members[i].answered = false
	cursor := c.members[i].cursor
	c.mu.Unlock()
	address := "ws" + strings.TrimPrefix(c.URL, "http") + protocol.Base + "/ws"
	if resume {
		address += "?resume=" + url.QueryEscape(cursor)
	}
	ws, _, err := d.Dial(address, http.Header{"Authorization": {"Bearer " + c.tokens[i]}})
	if err != nil {
		return err
	}
	c.sockets[i] = ws
	if _, _, err := ws.ReadMessage(); err != nil { // the greeting
		return err
	}
	c.readers.Go(func() {
		defer ws.Close()
		for {
			_, text, err := ws.ReadMessage()
			if err != nil {
				return
			}
			c.hear(i, text)
		}
	})
	return ws.WriteMessage(websocket.TextMessage, []byte(`{"type":"ping"}`))
}

// hear records a message to player i.
func (c *assembly) hear(i int, text []byte) {
	var m protocol.Message
	var t protocol.Ticket
	if err := json.Unmarshal(text, &m); err != nil {
		return // the player never gets to where it is waited for
	}
	if m.Type == protocol.MessageTicket && json.Unmarshal(m.Data, &t) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.members[i]
	switch {
	case m.Type == protocol.MessagePong:
		p.answered = true
	case m.Type == protocol.MessageTicket && m.Cursor <= p.cursor:
		p.repeats++
	case m.Type == protocol.MessageTicket:
		p.cursor, p.ticket, p.at, p.bytes = m.Cursor, t, time.Now(), len(text)
	}
}

// patience is how long an assembly is waited for.
const patience = 3 * time.Minute

// await waits until a condition is true of n players.
func (c *assembly) await(what string, n int, is func(i int, p *member) bool) error {
	end := time.After(patience)
	look := time.NewTicker(time.Millisecond) // not at each message, which would cost more than what is measured
	defer look.Stop()
	for {
		are := c.count(is)
		if are >= n {
			return nil
		}
		select {
		case <-look.C:
		case <-end:
			return fmt.Errorf("after %s %d players are %s, want %d", patience, are, what, n)
		}
	}
}

// count returns of how many players a condition is true.
func (c *assembly) count(is func(i int, p *member) bool) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.members {
		if is(i, &c.members[i]) {
			n++
		}
	}
	return n
}

// in is a condition: the player's ticket was pushed in a state.
func (c *assembly) in(state protocol.TicketState) func(int, *member) bool {
	return func(i int, p *member) bool { return p.ticket.TicketID == c.tickets[i] && p.ticket.State == state }
}

// hangUp closes all connections.
func (c *assembly) hangUp() {
	for _, ws := range c.sockets {
		if ws != nil {
			ws.Close()
		}
	}
	c.readers.Wait()
}
