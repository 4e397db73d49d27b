package players

import (
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// socket is a client's WebSocket.
type socket struct {
	*client
	ws *websocket.Conn
}

// dial connects; query is added to the path.
func (c *client) dial(query string, header http.Header) (*socket, *http.Response, error) {
	c.Helper()
	d := websocket.Dialer{Subprotocols: []string{protocol.Subprotocol}, HandshakeTimeout: 30 * time.Second}
	ws, response, err := d.DialContext(c.Context(), "ws"+strings.TrimPrefix(c.url, "http")+protocol.Base+"/ws"+query, header)
	if err != nil {
		return nil, response, err
	}
	c.Cleanup(func() { ws.Close() })
	return &socket{c, ws}, response, nil
}

// connect connects with the access token in the header.
func (c *client) connect(query string) *socket {
	c.Helper()
	s, _, err := c.dial(query, http.Header{"Authorization": {"Bearer " + c.login.AccessToken}})
	c.must(err)
	return s
}

// greeted connects, and returns the greeting too.
func (c *client) greeted(query string) (*socket, protocol.SocketReady) {
	c.Helper()
	s := c.connect(query)
	var ready protocol.SocketReady
	s.of(protocol.MessageReady, &ready)
	return s, ready
}

func (s *socket) next() protocol.Message {
	s.Helper()
	var m protocol.Message
	s.ws.SetReadDeadline(time.Now().Add(60 * time.Second))
	_, text, err := s.ws.ReadMessage()
	s.must(err)
	s.must(json.Unmarshal(text, &m))
	return m
}

// of reads up to the next message of a type and decodes its data.
func (s *socket) of(kind string, into any) protocol.Message {
	s.Helper()
	for {
		m := s.next()
		if m.Type != kind {
			continue
		}
		s.must(json.Unmarshal(m.Data, into))
		return m
	}
}

func (s *socket) say(kind, id string, data any) {
	s.Helper()
	text, err := json.Marshal(data)
	s.must(err)
	text, err = json.Marshal(protocol.Message{Type: kind, ID: id, Data: protocol.JSON(text)})
	s.must(err)
	s.must(s.ws.WriteMessage(websocket.TextMessage, text))
}

// state reads up to the ticket's state.
func (s *socket) state(want protocol.TicketState) (t protocol.Ticket, cursor string) {
	s.Helper()
	for t.State != want {
		t = protocol.Ticket{}
		cursor = s.of(protocol.MessageTicket, &t).Cursor
	}
	return t, cursor
}

// closed reads to the end and returns the close code.
func (s *socket) closed() int {
	s.Helper()
	for {
		s.ws.SetReadDeadline(time.Now().Add(60 * time.Second))
		if _, _, err := s.ws.ReadMessage(); err != nil {
			if e, ok := errors.AsType[*websocket.CloseError](err); ok {
				return e.Code
			}
			s.Fatal(err)
		}
	}
}

// The server is restarted while a client is away: a client that returns with its
// cursor receives what happened before that, each thing once, and continues.
func TestPush_ResumesAfterARestart(t *testing.T) {
	t.Parallel()
	s := newStage(t, onDisk(t, t.TempDir()))
	anna, bert := s.guest(), s.guest()
	var party protocol.Party
	bert.call("POST", "/parties", protocol.PartyRequest{Matchmaker: "pair", Max: 2}, 201, &party)
	anna.call("POST", "/parties/join", protocol.PartyJoin{Code: party.Code}, 200, nil)
	push, ready := anna.greeted("")
	push.say(protocol.MessageStart, "c1", protocol.TicketRequest{Matchmaker: "duel"})
	ticket, cursor, answered := &protocol.Ticket{}, "", false
	for cursor == "" || !answered { // the change may come before the answer to the request
		*ticket = protocol.Ticket{}
		m := push.of(protocol.MessageTicket, ticket)
		answered = answered || m.Re == "c1"
		if ticket.State == protocol.TicketStateSearching && m.Cursor != "" {
			cursor = m.Cursor
		}
	}
	push.ws.Close()

	bert.call("DELETE", "/parties/"+party.PartyID+"/members/"+anna.login.PlayerID, nil, 204, nil)
	bert.ask("duel")
	anna.until(ticket, protocol.TicketStatePlacing) // no game server is there yet
	s.restart()

	push, ready = anna.greeted("?resume=" + cursor)
	if !ready.Resumed || ready.PlayerID != anna.login.PlayerID {
		t.Errorf("got %+v", ready)
	}
	push.say(protocol.MessagePing, "p", "all told?")
	var kinds []string
	for len(kinds) == 0 || kinds[len(kinds)-1] != protocol.MessagePong {
		m := push.next()
		kinds = append(kinds, m.Type)
		if m.Cursor != "" {
			cursor = m.Cursor
		}
	}
	if want := []string{protocol.MessageTicket, protocol.MessagePartyLeft, protocol.MessagePong}; !slices.Equal(kinds, want) {
		t.Errorf("told %v, want %v", kinds, want)
	}
	s.server()
	ended, _ := push.state(protocol.TicketStateCompleted)
	if ended.TicketID != ticket.TicketID || s.playerOf(ended.Connection.PlayerSessionID) != anna.login.PlayerID {
		t.Errorf("got %+v", ended)
	}
	push.ws.Close()
	s.restart()
	push = anna.connect("?resume=" + cursor)
	again, cursor := push.state(protocol.TicketStateCompleted)
	if !reflect.DeepEqual(again.Connection, ended.Connection) {
		t.Errorf("after another restart the way to the game is %+v, was %+v", again.Connection, ended.Connection)
	}
	push, ready = anna.greeted("?resume=" + cursor)
	push.say(protocol.MessagePing, "p", "still there")
	if m := push.next(); m.Type != protocol.MessagePong || m.Re != "p" {
		t.Errorf("what was told is told again: %+v", m)
	}
}

// What a client requests right away is answered after what is under way, so the
// answer shows the client that it has received everything.
func TestPush_BeginsWithWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	anna := s.guest()
	ticket := anna.until(anna.ask("duel"), protocol.TicketStateSearching) // it does not change from then on
	for range 20 {
		push := anna.connect("")
		push.say(protocol.MessagePing, "p", 1)
		var kinds []string
		for len(kinds) == 0 || kinds[len(kinds)-1] != protocol.MessagePong {
			kinds = append(kinds, push.next().Type)
		}
		if want := []string{protocol.MessageReady, protocol.MessageTicket, protocol.MessagePong}; !slices.Equal(kinds, want) {
			t.Fatalf("got %v, want %v", kinds, want)
		}
		push.ws.Close()
	}
	anna.call("DELETE", "/matchmaking/tickets/"+ticket.TicketID, nil, 202, nil)
}

func TestPush_TellsOnlyItsPlayer(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	anna, eve := s.guest(), s.guest()
	spy, _ := eve.greeted("")
	ticket := anna.ask("duel")
	var p protocol.Problem
	spy.say(protocol.MessageCancel, "x", protocol.SocketTicketID{TicketID: ticket.TicketID})
	if spy.of(protocol.MessageError, &p); p.Code != "not-found" {
		t.Errorf("another player's ticket: %+v", p)
	}
	spy.say(protocol.MessageAccept, "y", protocol.SocketTicketID{TicketID: ticket.TicketID, Accept: true})
	if spy.of(protocol.MessageError, &p); p.Code != "not-found" {
		t.Errorf("another player's ticket: %+v", p)
	}
	anna.call("DELETE", "/matchmaking/tickets/"+ticket.TicketID, nil, 202, nil)
	anna.call("POST", "/parties", protocol.PartyRequest{Matchmaker: "pair"}, 201, nil)
	anna.call("POST", "/sessions", protocol.SessionRequest{Pool: "duel"}, 202, nil)
	// A cursor from before all of this shows another player nothing either.
	earlier, _ := eve.greeted("?resume=0")
	later, _ := eve.greeted("")
	for _, eavesdrops := range []*socket{spy, earlier, later} {
		eavesdrops.say(protocol.MessagePing, "z", 1)
		if m := eavesdrops.next(); m.Type != protocol.MessagePong {
			t.Errorf("a player is told of what is another's: %+v", m)
		}
	}
}

func TestPush_Authentication(t *testing.T) {
	t.Parallel()
	s := bare(t, nil)
	c := s.guest()
	var ready protocol.SocketReady

	var ticket protocol.SocketTicket
	c.call("POST", "/auth/ws-ticket", nil, 201, &ticket)
	byTicket, _, err := c.dial("?ticket="+ticket.Ticket, nil)
	s.must(err)
	byTicket.of(protocol.MessageReady, &ready)
	if _, r, err := c.dial("?ticket="+ticket.Ticket, nil); err == nil || r.StatusCode != http.StatusUnauthorized {
		t.Error("a ticket lets in twice")
	}
	if _, r, err := c.dial("", http.Header{"Authorization": {"Bearer nonsense"}}); err == nil || r.StatusCode != http.StatusUnauthorized {
		t.Error("a wrong token lets in")
	}
	if _, r, err := c.dial("", http.Header{"Origin": {"https://evil.example"}}); err == nil || r.StatusCode != http.StatusForbidden {
		t.Error("a page of another site may connect")
	}

	byMessage, _, err := c.dial("", nil)
	s.must(err)
	byMessage.say(protocol.MessageStart, "a", protocol.TicketRequest{Matchmaker: "duel"})
	var p protocol.Problem
	if byMessage.of(protocol.MessageError, &p); p.Code != "token-missing" {
		t.Errorf("before auth: %+v", p)
	}
	byMessage.say(protocol.MessageAuth, "b", protocol.SocketAuth{AccessToken: c.login.AccessToken})
	byMessage.of(protocol.MessageReady, &ready)
}
