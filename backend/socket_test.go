package backend

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// Closing the door waits for the open connections and admits no others, not even clients
// that come back immediately because they were disconnected.
func TestSocketDoor_Close(t *testing.T) {
	t.Parallel()
	d := newSocketDoor()
	if !d.enter(2) {
		t.Fatal("there is room")
	}
	patience, over := context.WithCancel(t.Context())
	over()
	d.close(patience) // one connection is still open
	if d.enter(2) {
		t.Error("a closed door let somebody in")
	}
	d.leave()
	d.close(t.Context())
}

// A ticket for a WebSocket is accepted once, within 30 seconds, from the network that
// requested it; and only its hash is kept.
func TestSocketTicket(t *testing.T) {
	t.Parallel()
	const here, there = "192.0.2.1", "192.0.2.2"
	for name, c := range map[string]struct {
		from  string
		later time.Duration
		good  bool
	}{
		"good":            {here, socketTicketLife - time.Second, true},
		"expired":         {here, socketTicketLife, false},
		"another network": {there, 0, false},
	} {
		inHouse(t, func(h *house) {
			_, token := h.guest()
			access, err := h.ids.Tokens.Verify(token)
			h.Must(err)
			var got protocol.SocketTicket
			h.Must(json.Unmarshal(h.send(here, token, "POST", protocol.Base+"/auth/ws-ticket", "").Body.Bytes(), &got))
			for key := range h.b.sockets.door.tickets {
				if strings.Contains(key, got.Ticket) || len(h.b.sockets.door.tickets) != 1 {
					t.Errorf("%s: the door keeps %v", name, h.b.sockets.door.tickets)
				}
			}
			wait.Pass(c.later)
			if let := h.b.sockets.door.redeem(got.Ticket, networkOf(netip.MustParseAddr(c.from)), time.Now()); (let == access) != c.good {
				t.Errorf("%s: gave %v", name, let)
			}
			if h.b.sockets.door.redeem(got.Ticket, networkOf(netip.MustParseAddr(here)), time.Now()) != nil {
				t.Errorf("%s: lets in again", name)
			}
		})
	}
}
