package backend

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// BenchmarkTicket requests a match and cancels it, without a network and on a store in
// memory, for one of many players at a time: those of a player are kept for an hour.
func BenchmarkTicket(b *testing.B) {
	h := newHouse(b)
	defer h.Close()
	tokens := make([]string, 1000)
	for i := range tokens {
		_, tokens[i] = h.guest()
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		token := tokens[i%len(tokens)]
		t := h.start(token)
		h.send("192.0.2.1", token, "DELETE", protocol.Base+"/matchmaking/tickets/"+t.TicketID, "")
	}
}

// start requests a match.
func (h *house) start(token string) (t protocol.Ticket) {
	h.Must(json.Unmarshal(h.send("192.0.2.1", token, "POST", protocol.Base+"/matchmaking/tickets", `{"matchmaker":"alone"}`).Body.Bytes(), &t))
	return t
}

// connected returns both ends of a guest's connection, whose token is token, until leave is called.
func (h *house) connected() (c *socket, ws *websocket.Conn, token string, leave func()) {
	server := httptest.NewServer(h.b)
	player, token := h.guest()
	ws, _, err := websocket.DefaultDialer.Dial("ws"+server.URL[len("http"):]+protocol.Base+"/ws", http.Header{"Authorization": {"Bearer " + token}})
	h.Must(err)
	return h.b.sockets.door.of[player][0], ws, token, func() { ws.Close(); server.Close() }
}

// BenchmarkPush sends a player a ticket that has changed.
func BenchmarkPush(b *testing.B) {
	h := newHouse(b)
	defer h.Close()
	c, ws, token, leave := h.connected()
	defer leave()
	h.Go(func() {
		for err := error(nil); err == nil; {
			_, _, err = ws.NextReader()
		}
	})
	h.start(token)
	c.notify(changes)
	c.writer.Wait()
	b.ReportAllocs()
	for b.Loop() {
		c.cursor = "0"
		h.Must(c.update(changes))
	}
}

// BenchmarkMessage has a message of a player executed that is refused, on a connection whose
// messages have no spans.
func BenchmarkMessage(b *testing.B) {
	h := newHouse(b)
	defer h.Close()
	c, _, _, leave := h.connected()
	defer leave()
	m := &protocol.Message{Type: protocol.MessageCancel, ID: "1", Data: protocol.JSON(`{"ticket_id":"none"}`)}
	b.ReportAllocs()
	for b.Loop() {
		if out := c.traced(m); out.Type != protocol.MessageError {
			b.Fatal(out)
		}
	}
}
