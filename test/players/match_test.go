package players

import (
	"testing"
	"time"

	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// Two players are matched; each learns where to play, with a separate player session
// that the game server accepts once.
func TestMatch_ByLongPoll(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	server := s.server()
	anna, bert := s.guest(), s.guest()
	ta, tb := anna.ask("duel"), bert.ask("duel")
	ta, tb = anna.until(ta, protocol.TicketStateCompleted), bert.until(tb, protocol.TicketStateCompleted)
	if ta.MatchID == "" || ta.MatchID != tb.MatchID || ta.Connection == nil || tb.Connection == nil {
		t.Fatalf("got %+v and %+v", ta, tb)
	}
	if ta.Connection.PlayerSessionID == tb.Connection.PlayerSessionID {
		t.Error("both players were given the same player session")
	}
	for _, c := range []struct {
		player *client
		ticket *protocol.Ticket
	}{{anna, ta}, {bert, tb}} {
		to := c.ticket.Connection
		if s.playerOf(to.PlayerSessionID) != c.player.login.PlayerID {
			t.Error("a player was given another player's session")
		}
		if to.Host != "127.0.0.1" || to.Port == 0 {
			t.Errorf("the way to the game is %+v", to)
		}
	}
	session := server.Hosted()[0]
	if err := server.Accept(t.Context(), session, "psess-forged"); err == nil {
		t.Error("a forged player session is accepted")
	}
	if err := server.Accept(t.Context(), session, ta.Connection.PlayerSessionID); err != nil {
		t.Error(err)
	}
	if err := server.Accept(t.Context(), session, ta.Connection.PlayerSessionID); err == nil {
		t.Error("a player session is accepted twice")
	}

	var places protocol.Reservations
	anna.call("GET", "/players/me/reservations", nil, 200, &places)
	if len(places.Items) != 1 || *places.Items[0].Connection != *ta.Connection || places.Items[0].Status != protocol.ReservationStatusActive {
		t.Errorf("after a crash the way back is %+v", places.Items)
	}
}

// What belongs to another player is not found, and knowing a ticket's id is of no
// use.
func TestTickets_BelongToTheirPlayers(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	anna, eve := s.guest(), s.guest()
	ticket := anna.ask("duel")
	path := "/matchmaking/tickets/" + ticket.TicketID
	eve.refused("GET", path, nil, 404, "not-found")
	eve.refused("GET", path+"?wait=1", nil, 404, "not-found")
	eve.refused("DELETE", path, nil, 404, "not-found")
	eve.refused("POST", path+"/acceptance", protocol.AcceptRequest{Accept: true}, 404, "not-found")
	nobody := &client{stage: s}
	for _, method := range []string{"GET", "DELETE"} {
		if r := nobody.refused(method, path, nil, 401, "token-missing"); r.header.Get("WWW-Authenticate") != "Bearer" {
			t.Error("the answer does not say how to log in")
		}
	}
	ticket = anna.until(ticket, protocol.TicketStateSearching) // and it stays in this state
	for known, want := range map[int64]int{ticket.Seq: 304, ticket.Seq + 1: 200} {
		for _, weak := range []string{"", "W/"} {
			etag := weak + `"` + itoa(known) + `"`
			if r := anna.send("GET", path, nil, "If-None-Match: "+etag); r.status != want {
				t.Errorf("who has %s of ticket %d: got %d %s, want %d", etag, ticket.Seq, r.status, r.body, want)
			}
		}
	}
	var all protocol.Tickets
	eve.call("GET", "/matchmaking/tickets", nil, 200, &all)
	if len(all.Items) != 0 {
		t.Errorf("a player sees tickets of others: %+v", all.Items)
	}
	anna.refused("POST", "/matchmaking/tickets", protocol.TicketRequest{Matchmaker: "duel"}, 409, "ticket-active")
	anna.call("DELETE", path, nil, 202, ticket)
	anna.until(ticket, protocol.TicketStateCancelled)
	anna.ask("duel")
}

func TestMatch_Accepted(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.server()
	anna, bert := s.guest(), s.guest()
	ta, tb := anna.ask("asked"), bert.ask("asked")
	ta = anna.until(ta, protocol.TicketStateRequiresAcceptance)
	tb = bert.until(tb, protocol.TicketStateRequiresAcceptance)
	if ta.Acceptance == nil || ta.Acceptance.Mine != nil || time.Until(ta.Acceptance.Deadline) <= 0 {
		t.Fatalf("the proposal is %+v", ta.Acceptance)
	}
	anna.call("POST", "/matchmaking/tickets/"+ta.TicketID+"/acceptance", protocol.AcceptRequest{Accept: true}, 202, ta)
	if ta.Acceptance.Mine == nil || !*ta.Acceptance.Mine {
		t.Errorf("the answer is not shown: %+v", ta.Acceptance)
	}
	bert.call("POST", "/matchmaking/tickets/"+tb.TicketID+"/acceptance", protocol.AcceptRequest{Accept: true}, 202, nil)
	anna.until(ta, protocol.TicketStateCompleted)
	bert.until(tb, protocol.TicketStateCompleted)
	bert.refused("POST", "/matchmaking/tickets/"+tb.TicketID+"/acceptance", protocol.AcceptRequest{Accept: true}, 409, "not-awaiting-acceptance")
}

// The player who accepted keeps searching; the one who refused is out.
func TestMatch_Rejected(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	anna, bert := s.guest(), s.guest()
	ta, tb := anna.ask("asked"), bert.ask("asked")
	ta = anna.until(ta, protocol.TicketStateRequiresAcceptance)
	tb = bert.until(tb, protocol.TicketStateRequiresAcceptance)
	anna.call("POST", "/matchmaking/tickets/"+ta.TicketID+"/acceptance", protocol.AcceptRequest{Accept: true}, 202, ta)
	bert.call("POST", "/matchmaking/tickets/"+tb.TicketID+"/acceptance", protocol.AcceptRequest{}, 202, tb)
	bert.until(tb, protocol.TicketStateCancelled)
	ta = anna.until(ta, protocol.TicketStateSearching)
	if ta.MatchID != "" || ta.Acceptance != nil {
		t.Errorf("of the match that came to nothing is left: %+v", ta)
	}
}

func TestParty(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.server()
	anna, bert, eve := s.guest(), s.guest(), s.guest()
	var party protocol.Party
	anna.call("POST", "/parties", protocol.PartyRequest{Matchmaker: "pair", Max: 2}, 201, &party)
	path := "/parties/" + party.PartyID
	eve.refused("GET", path, nil, 404, "not-found")
	eve.refused("POST", "/parties/join", protocol.PartyJoin{Code: "AAAAAA"}, 404, "not-found")
	bert.call("POST", "/parties/join", protocol.PartyJoin{Code: party.Code}, 200, nil)
	eve.refused("POST", "/parties/join", protocol.PartyJoin{Code: party.Code}, 409, "party-full")

	ask := protocol.TicketRequest{Matchmaker: "pair", PartyID: party.PartyID}
	bert.refused("POST", "/matchmaking/tickets", ask, 403, "not-leader")
	eve.refused("POST", "/matchmaking/tickets", ask, 404, "not-found")
	anna.refused("POST", "/matchmaking/tickets", ask, 409, "party-not-ready")
	bert.call("PUT", path+"/members/me", protocol.MemberChange{Ready: true}, 200, nil)
	var ticket protocol.Ticket
	anna.call("POST", "/matchmaking/tickets", ask, 201, &ticket)
	eve.refused("GET", "/matchmaking/tickets/"+ticket.TicketID, nil, 404, "not-found")
	ta := anna.until(&ticket, protocol.TicketStateCompleted)
	tb := bert.until(&protocol.Ticket{TicketID: ticket.TicketID}, protocol.TicketStateCompleted)
	for player, got := range map[*client]*protocol.Ticket{anna: ta, bert: tb} {
		if s.playerOf(got.Connection.PlayerSessionID) != player.login.PlayerID {
			t.Error("a member was given another member's player session")
		}
	}
	anna.refused("POST", "/matchmaking/tickets", ask, 409, "party-not-ready") // each match needs a new consent

	bert.refused("DELETE", path+"/members/"+anna.login.PlayerID, nil, 403, "not-leader")
	anna.call("DELETE", path+"/members/me", nil, 204, nil)
	bert.call("GET", path, nil, 200, &party)
	if party.Leader != bert.login.PlayerID || len(party.Members) != 1 {
		t.Errorf("after the leader left: %+v", party)
	}
	bert.call("DELETE", path+"/members/me", nil, 204, nil)
	bert.refused("GET", path, nil, 404, "not-found")
}

func TestSessions_WithoutMatchmaking(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	server := s.server()
	anna, bert := s.guest(), s.guest()
	var p protocol.Placement
	anna.call("POST", "/sessions", protocol.SessionRequest{Pool: "duel", Name: "ours", MaxPlayers: 2, Properties: map[string]string{"map": "hill"}}, 202, &p)
	bert.refused("GET", "/placements/"+p.PlacementID, nil, 404, "not-found")
	for known := p.Seq; p.State == protocol.PlacementStatePending; known = p.Seq {
		r := anna.send("GET", "/placements/"+p.PlacementID+"?wait=20", nil, `If-None-Match: "`+itoa(known)+`"`)
		if r.status == 200 {
			p = protocol.Placement{}
			s.read(r, &p)
		}
	}
	if p.State != protocol.PlacementStateFulfilled || s.playerOf(p.Connection.PlayerSessionID) != anna.login.PlayerID {
		t.Fatalf("got %+v", p)
	}
	var list protocol.GameSessions
	bert.call("GET", "/sessions?pool=duel", nil, 200, &list)
	if len(list.Items) != 1 || list.Items[0].Name != "ours" || list.Items[0].Properties["map"] != "hill" || list.Items[0].Players != 1 {
		t.Fatalf("got %+v", list.Items)
	}
	var place, again protocol.Reservation
	join := "/sessions/" + list.Items[0].SessionID + "/players"
	bert.call("POST", join, nil, 201, &place)
	bert.call("POST", join, nil, 200, &again)
	if place.Connection.PlayerSessionID != again.Connection.PlayerSessionID {
		t.Error("a second wish to join takes a second place")
	}
	if err := server.Accept(t.Context(), server.Hosted()[0], place.Connection.PlayerSessionID); err != nil {
		t.Error(err)
	}
	bert.call("GET", "/sessions?pool=duel", nil, 200, &list)
	if len(list.Items) != 0 {
		t.Errorf("a full game is listed: %+v", list.Items)
	}
	s.guest().refused("POST", join, nil, 409, "session-full")
	s.guest().refused("POST", "/sessions/YXJuOmF3czpub25l/players", nil, 404, "not-found")
}
