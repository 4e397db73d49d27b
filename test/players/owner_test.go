package players

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// What another player has under way is not found, whatever is tried with it, and
// continues as if nobody had tried.
func TestOthers_AreNotFound(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	anna, bert, eve, nobody := s.guest(), s.guest(), s.guest(), &client{stage: s}
	var place protocol.Placement
	anna.call("POST", "/sessions", protocol.SessionRequest{Pool: "duel", Name: "anna's"}, 202, &place)
	var party protocol.Party
	anna.call("POST", "/parties", protocol.PartyRequest{Matchmaker: "pair", Max: 2}, 201, &party)
	bert.call("POST", "/parties/join", protocol.PartyJoin{Code: party.Code}, 200, &party)
	eve.refused("POST", "/parties/join", protocol.PartyJoin{Code: party.Code}, 409, "party-full")
	eve.refused("POST", "/parties/join", protocol.PartyJoin{Code: "AAAAAA"}, 404, "not-found")
	together := protocol.TicketRequest{Matchmaker: "pair", PartyID: party.PartyID}
	bert.refused("POST", "/matchmaking/tickets", together, 403, "not-leader")
	bert.refused("DELETE", "/parties/"+party.PartyID+"/members/"+anna.login.PlayerID, nil, 403, "not-leader")
	anna.refused("POST", "/matchmaking/tickets", together, 409, "party-not-ready")
	ticket := anna.ask("asked")
	bert.ask("asked")
	ticket = anna.until(ticket, protocol.TicketStateRequiresAcceptance)

	inParty, ticketAt, placeAt := "/parties/"+party.PartyID, "/matchmaking/tickets/"+ticket.TicketID, "/placements/"+place.PlacementID
	for _, c := range []struct {
		method, path string
		body         any
	}{
		{"GET", ticketAt, nil},
		{"DELETE", ticketAt, nil},
		{"POST", ticketAt + "/acceptance", protocol.AcceptRequest{Accept: false}},
		{"GET", placeAt, nil},
		{"DELETE", placeAt, nil},
		{"GET", inParty, nil},
		{"PUT", inParty + "/members/me", protocol.MemberChange{Ready: true}},
		{"DELETE", inParty + "/members/me", nil},
		{"DELETE", inParty + "/members/" + bert.login.PlayerID, nil},
		{"POST", "/matchmaking/tickets", together},
	} {
		eve.refused(c.method, c.path, c.body, 404, "not-found")
		if r := nobody.refused(c.method, c.path, c.body, 401, "token-missing"); r.header.Get("WWW-Authenticate") != "Bearer" {
			t.Error("the answer does not say how to log in")
		}
	}
	eve.refused("GET", ticketAt+"?wait=1", nil, 404, "not-found")
	var all protocol.Tickets
	if eve.call("GET", "/matchmaking/tickets", nil, 200, &all); len(all.Items) != 0 {
		t.Errorf("a player sees tickets of others: %+v", all.Items)
	}
	var now protocol.Ticket
	anna.call("GET", ticketAt, nil, 200, &now)
	if now.State != protocol.TicketStateRequiresAcceptance || slices.ContainsFunc(now.Players, func(p protocol.TicketPlayer) bool { return p.Accepted != nil }) {
		t.Errorf("the ticket is %+v", now)
	}
	anna.call("GET", inParty, nil, 200, &party)
	if len(party.Members) != 2 || party.Leader != anna.login.PlayerID || party.Members[0].Ready || party.Members[1].Ready {
		t.Errorf("the party is %+v", party)
	}
	anna.call("GET", placeAt, nil, 200, &place)
	if place.State != protocol.PlacementStatePending {
		t.Errorf("the placement is %+v", place)
	}
}

// A matched game belongs to its players, each with a player session that the game server accepts
// once, even if somebody else knows its id; the way back into it is shown to nobody else.
func TestOthers_DoNotJoinMatchedGames(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	server := s.server()
	anna, bert, eve := s.guest(), s.guest(), s.guest()
	ta, tb := anna.ask("duel"), bert.ask("duel")
	ta, tb = anna.until(ta, protocol.TicketStateCompleted), bert.until(tb, protocol.TicketStateCompleted)
	if ta.MatchID == "" || ta.MatchID != tb.MatchID || ta.Connection.PlayerSessionID == tb.Connection.PlayerSessionID || ta.Connection.Host != "127.0.0.1" || ta.Connection.Port == 0 {
		t.Errorf("matched as %+v and %+v", ta, tb)
	}
	if s.playerOf(ta.Connection.PlayerSessionID) != anna.login.PlayerID || s.playerOf(tb.Connection.PlayerSessionID) != bert.login.PlayerID {
		t.Error("a player was given another player's session")
	}
	s.must(server.Accept(t.Context(), server.Hosted()[0], ta.Connection.PlayerSessionID))
	for _, bad := range []string{ta.Connection.PlayerSessionID, "psess-forged"} {
		if err := server.Accept(t.Context(), server.Hosted()[0], bad); err == nil {
			t.Errorf("%s is accepted: twice, or forged", bad)
		}
	}
	var active protocol.Reservations
	anna.call("GET", "/players/me/reservations", nil, 200, &active)
	if len(active.Items) != 1 || !reflect.DeepEqual(active.Items[0].Connection, ta.Connection) || active.Items[0].Status != protocol.ReservationStatusActive {
		t.Errorf("after a crash the way back is %+v", active.Items)
	}
	s.must(server.Remove(t.Context(), server.Hosted()[0], ta.Connection.PlayerSessionID)) // there is room
	eve.refused("POST", "/sessions/"+ta.Connection.SessionID+"/players", nil, 404, "not-found")
	var list protocol.GameSessions
	eve.call("GET", "/sessions?pool=duel", nil, 200, &list)
	var back protocol.Reservations
	eve.call("GET", "/players/me/reservations", nil, 200, &back)
	if len(list.Items) != 0 || len(back.Items) != 0 {
		t.Errorf("a stranger is told of %+v and %+v", list.Items, back.Items)
	}
	bert.call("GET", "/players/me/reservations", nil, 200, &back)
	if len(back.Items) != 1 || !reflect.DeepEqual(back.Items[0].Connection, tb.Connection) || back.Items[0].Status != protocol.ReservationStatusReserved || back.Items[0].ReservedUntil.IsZero() {
		t.Errorf("the way back is %+v", back.Items)
	}
	anna.call("GET", "/players/me/reservations", nil, 200, &back)
	if len(back.Items) != 0 {
		t.Errorf("who has left is shown a way back: %+v", back.Items)
	}
}

// Of another player's account only the public data is visible; what the operator
// keeps secret is hidden from its player too.
func TestOthers_DataIsNotSeen(t *testing.T) {
	t.Parallel()
	s := bare(t, withStudio(t))
	anna, eve := s.owner("account of anna"), s.guest()
	id := anna.login.PlayerID
	for _, namespace := range []string{"server", "secret"} {
		anna.call("PUT", "/server/players/"+id+"/data/"+namespace+"/k", `"of the operator"`, 201, nil)
	}
	anna.call("PUT", "/players/me/data/private/k", `"of anna"`, 201, nil)
	anna.call("PUT", "/players/me/data/public/k", `"for all"`, 201, nil)

	profile := eve.call("GET", "/players/"+id, nil, 200, nil)
	var members map[string]jsontext.Value
	s.read(profile, &members)
	delete(members, "player_id")
	delete(members, "display_name")
	delete(members, "data")
	if text := string(profile.body); len(members) != 0 || strings.Contains(text, "of ") || strings.Contains(text, "studio") {
		t.Errorf("a stranger is shown %s", text)
	}
	for _, namespace := range []string{"private", "server", "public"} {
		eve.refused("GET", "/players/me/data/"+namespace+"/k", nil, 404, "not-found")
		var items protocol.DataItems
		if eve.call("GET", "/players/me/data/"+namespace, nil, 200, &items); len(items.Items) != 0 {
			t.Errorf("a stranger is shown %+v", items)
		}
	}
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		anna.refused(method, "/players/me/data/secret/k", `1`, 404, "not-found")
	}
	anna.refused("GET", "/players/me/data/secret", nil, 404, "not-found")
	anna.refused("DELETE", "/players/me/data/server/k", nil, 403, "not-allowed")
	eve.refused("DELETE", linkStudio, nil, 404, "not-found")
	eve.refused("GET", "/players/"+id+"/data/private/k", nil, 404, "not-found")
}

// Several players are looked up together, with what anybody may know about each.
func TestLookUp(t *testing.T) {
	t.Parallel()
	s := bare(t, nil)
	anna, bert, gone, eve := s.guest(), s.guest(), s.guest(), s.guest()
	anna.call("PATCH", "/players/me", protocol.PlayerChange{DisplayName: "Anna"}, 200, nil)
	anna.call("PUT", "/players/me/data/public/badge", `"gold"`, 201, nil)
	anna.call("PUT", "/players/me/data/private/save", `"private"`, 201, nil)
	gone.call("DELETE", "/players/me", nil, 204, nil)
	const path = "/players/lookup"
	ids := []string{bert.login.PlayerID, "nobody", anna.login.PlayerID, gone.login.PlayerID, bert.login.PlayerID, ""}
	var found protocol.PublicPlayers
	r := eve.call("POST", path, protocol.PlayerLookup{IDs: ids}, 200, &found)
	if len(found.Items) != 2 || found.Items[0].PlayerID != bert.login.PlayerID || found.Items[1].DisplayName != "Anna" ||
		len(found.Items[1].Data) != 1 || string(found.Items[1].Data["badge"].Value) != `"gold"` {
		t.Errorf("got %s", r.body)
	}
	(&client{stage: s}).refused("POST", path, protocol.PlayerLookup{IDs: ids}, 401, "token-missing")
}
