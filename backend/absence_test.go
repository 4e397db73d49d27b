package backend

import (
	"container/list"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/lobby"
)

// The search of a player whose last connection has ended goes on as long as the player sends
// requests or comes back within a minute.
func TestAbsence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(h *house, ticket, token string) *socket // a connection that is there afterwards, or nil
		want      lobby.State
	}{
		"gone": {func(*house, string, string) *socket { wait.Pass(absentFor - time.Second); return nil }, lobby.Cancelled},
		"comes back": {func(h *house, _, token string) *socket {
			wait.Pass(absentFor - time.Second)
			return h.arrive(token)
		}, lobby.Searching},
		"polls": {func(h *house, ticket, token string) *socket {
			for range 3 {
				wait.Pass(absentFor - time.Second)
				if w := h.send("192.0.2.1", token, http.MethodGet, "/player/v1/matchmaking/tickets/"+ticket, ""); w.Code != http.StatusOK {
					t.Errorf("a poll is answered %d %s", w.Code, w.Body)
				}
			}
			return nil
		}, lobby.Searching},
	} {
		inHouse(t, func(h *house) {
			player, token := h.guest()
			phone, desk := h.arrive(token), h.arrive(token)
			ticket, err := h.lobby.Tickets.Start(h.Ctx, player, "guest", lobby.MatchRequest{Matchmaker: "alone"})
			h.Must(err)
			synctest.Wait()
			state := func() lobby.State {
				now, err := h.lobby.Tickets.Get(player, ticket.ID)
				h.Must(err)
				return now.Found.State
			}
			h.depart(phone)
			wait.Pass(absentFor + time.Second)
			if got := state(); got != lobby.Searching {
				t.Errorf("%s: the ticket of a player who is there is %s", name, got)
			}
			h.depart(desk)
			last := c.meanwhile(h, ticket.ID, token)
			if got := state(); got != lobby.Searching {
				t.Errorf("%s: before its time, the ticket is %s", name, got)
			}
			if last == nil && c.want == lobby.Searching {
				wait.Pass(absentFor - time.Second)
			} else {
				wait.Pass(absentFor + time.Second)
			}
			synctest.Wait()
			if got := state(); got != c.want {
				t.Errorf("%s: the ticket is %s, want %s", name, got, c.want)
			}
			if last != nil {
				h.depart(last)
			}
			h.b.sockets.absent.close()
		})
	}
}

// arrive makes a connection of a player, without a network.
func (h *house) arrive(token string) *socket {
	h.Helper()
	access, err := h.ids.Tokens.Verify(token)
	h.Must(err)
	c := &socket{of: h.b.sockets, writing: true, place: new(list.Element)} // written by this test, and never pinged
	if !h.b.sockets.door.enter(10) {
		h.Fatal("no connection is admitted")
	}
	c.become(access, "")
	return c
}

// depart ends such a connection.
func (h *house) depart(c *socket) {
	if player := h.b.sockets.door.remove(c); player != "" {
		h.b.sockets.left(player)
	}
}
