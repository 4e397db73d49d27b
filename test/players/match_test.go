package players

import (
	"testing"
	"time"

	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// answer says for a player whether a proposed match is accepted.
func (c *client) answer(t *protocol.Ticket, accept bool) {
	c.Helper()
	c.call("POST", "/matchmaking/tickets/"+t.TicketID+"/acceptance", protocol.AcceptRequest{Accept: accept}, 202, t)
}

// Of a proposed match, who rejects it is out and who accepted searches on, for a match that all
// accept.
func TestMatch_Acceptance(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.server()
	anna, bert, carl := s.guest(), s.guest(), s.guest()
	ta, tb := anna.ask("asked"), bert.ask("asked")
	ta, tb = anna.until(ta, protocol.TicketStateRequiresAcceptance), bert.until(tb, protocol.TicketStateRequiresAcceptance)
	if ta.Acceptance == nil || ta.Acceptance.Mine != nil || time.Until(ta.Acceptance.Deadline) <= 0 {
		t.Fatalf("the proposal is %+v", ta.Acceptance)
	}
	anna.answer(ta, true)
	if ta.Acceptance.Mine == nil || !*ta.Acceptance.Mine {
		t.Errorf("the answer is not shown: %+v", ta.Acceptance)
	}
	bert.answer(tb, false)
	bert.until(tb, protocol.TicketStateCancelled)
	ta = anna.until(ta, protocol.TicketStateSearching)
	if ta.MatchID != "" || ta.Acceptance != nil {
		t.Errorf("of the match that came to nothing is left: %+v", ta)
	}
	tc := carl.until(carl.ask("asked"), protocol.TicketStateRequiresAcceptance)
	anna.answer(anna.until(ta, protocol.TicketStateRequiresAcceptance), true)
	carl.answer(tc, true)
	anna.until(ta, protocol.TicketStateCompleted)
	carl.until(tc, protocol.TicketStateCompleted)
	carl.refused("POST", "/matchmaking/tickets/"+tc.TicketID+"/acceptance", protocol.AcceptRequest{Accept: true}, 409, "not-awaiting-acceptance")
}

// A ticket is sent if it is not the one that the client has; a player has one at a time.
func TestTicket(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	anna := s.guest()
	ticket := anna.until(anna.ask("duel"), protocol.TicketStateSearching) // and it stays in this state
	path := "/matchmaking/tickets/" + ticket.TicketID
	for known, want := range map[int64]int{ticket.Seq: 304, ticket.Seq + 1: 200} {
		for _, weak := range []string{"", "W/"} {
			etag := weak + `"` + itoa(known) + `"`
			if r := anna.send("GET", path, nil, "If-None-Match: "+etag); r.status != want {
				t.Errorf("who has %s of ticket %d: got %d %s, want %d", etag, ticket.Seq, r.status, r.body, want)
			}
		}
	}
	anna.refused("POST", "/matchmaking/tickets", protocol.TicketRequest{Matchmaker: "duel"}, 409, "ticket-active")
	anna.call("DELETE", path, nil, 202, ticket)
	anna.until(ticket, protocol.TicketStateCancelled)
	anna.ask("duel")
}
