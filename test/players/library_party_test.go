package players

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// follow follows a party in the background, until it is left.
func (s *stage) follow(c *player.Client, partyID string) <-chan player.PartyEvent {
	events := make(chan player.PartyEvent, 100)
	ctx, cancel := context.WithCancel(s.Context())
	s.Cleanup(cancel)
	go func() {
		defer close(events)
		for e := range c.FollowParty(ctx, partyID) {
			events <- e
		}
	}()
	return events
}

// party makes a party of two.
func (s *stage) party(leads, joins *player.Client) player.Party {
	s.Helper()
	p, err := leads.CreateParty(s.Context(), "pair", 2)
	s.must(err)
	p, err = joins.JoinParty(s.Context(), p.Code)
	s.must(err)
	return p
}

// until reads up to the wanted event.
func until(t *testing.T, events <-chan player.PartyEvent, is func(player.PartyEvent) bool) player.PartyEvent {
	t.Helper()
	for e := range events {
		if e.Kind == player.PartyError {
			t.Error(e.Err)
		}
		if is(e) {
			return e
		}
	}
	t.Fatal("it is never told")
	return player.PartyEvent{}
}

// A party is created, joined, followed by push and by polling, matched by its leader,
// and left: by being removed, or voluntarily.
func TestLibrary_Party(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.server()
	for _, noSocket := range []bool{false, true} {
		leads, lead := s.login(nil)
		joins, member := s.login(func(o *player.Config) { o.NoSocket = noSocket })
		party := s.party(leads, joins)
		if party.Leader != lead.PlayerID || len(party.Members) != 2 {
			t.Errorf("the party is %+v", party)
		}
		events := s.follow(joins, party.PartyID)
		until(t, events, func(e player.PartyEvent) bool { return e.Kind == player.PartyChanged })

		ask := session.MatchRequest{Configuration: "pair", Players: []session.Player{{ID: lead.PlayerID}}}
		_, err := leads.ForParty(party.PartyID).StartMatchmaking(t.Context(), ask)
		if p, ok := errors.AsType[*player.Problem](err); !ok || p.Code != "party-not-ready" || !errors.Is(err, session.ErrConflict) {
			t.Errorf("nobody agreed: %v", err)
		}
		_, err = joins.ChangeMembership(t.Context(), party.PartyID, player.Membership{
			Ready: true, Attributes: map[string]session.Attribute{"skill": session.Number(7)},
		})
		s.must(err)
		until(t, events, func(e player.PartyEvent) bool {
			return e.Kind == player.PartyChanged && slices.ContainsFunc(e.Party.Members, func(m player.PartyMember) bool { return m.PlayerID == member.PlayerID && m.Ready })
		})
		place, err := session.FindMatch(t.Context(), leads.ForParty(party.PartyID), leads, nil, ask, session.MatchOptions{})
		s.must(err)
		matched := until(t, events, func(e player.PartyEvent) bool { return e.Kind == player.PartyMatched })
		var last session.TicketEvent
		for e := range joins.Track(t.Context(), matched.Ticket.ID) {
			last = e
		}
		mine := last.Ticket.Connections[member.PlayerID]
		if last.Kind != session.MatchComplete || mine.SessionID != place.SessionID || s.playerOf(mine.PlayerSessionID) != member.PlayerID || s.playerOf(place.PlayerSessionID) != lead.PlayerID {
			t.Errorf("noSocket %v: the member is sent to %+v, the leader to %+v", noSocket, mine, place)
		}

		if err := joins.PutOut(t.Context(), party.PartyID, lead.PlayerID); !errors.Is(err, session.ErrUnauthorized) {
			t.Errorf("who does not lead puts others out: %v", err)
		}
		s.must(leads.PutOut(t.Context(), party.PartyID, member.PlayerID))
		until(t, events, func(e player.PartyEvent) bool { return e.Kind == player.PartyLeft })
		if _, more := <-events; more {
			t.Errorf("noSocket %v: something is told after the end", noSocket)
		}
		if _, err := joins.Party(t.Context(), party.PartyID); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("who was put out sees the party: %v", err)
		}
		// Following a party that was left before reports that.
		until(t, s.follow(joins, party.PartyID), func(e player.PartyEvent) bool { return e.Kind == player.PartyLeft })
		s.must(leads.LeaveParty(t.Context(), party.PartyID))
		if _, err := leads.Party(t.Context(), party.PartyID); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("a party that everybody left is there: %v", err)
		}
		s.server() // for the next match
	}
}

// A player who follows a party by push, loses the connection and polls, receives no
// match that had ended before: it would send them into a game of an hour ago.
func TestLibrary_PartyOldMatchesAreNoNews(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.server()
	leads, lead := s.login(nil)
	joins, member := s.login(nil)
	party := s.party(leads, joins)
	_, err := joins.ChangeMembership(t.Context(), party.PartyID, player.Membership{Ready: true})
	s.must(err)
	ask := session.MatchRequest{Configuration: "pair", Players: []session.Player{{ID: lead.PlayerID}}}
	_, err = session.FindMatch(t.Context(), leads.ForParty(party.PartyID), leads, nil, ask, session.MatchOptions{})
	s.must(err)

	events := s.follow(joins, party.PartyID)
	until(t, events, func(e player.PartyEvent) bool { return e.Kind == player.PartyChanged })
	others := &client{stage: s, login: protocol.Session{AccessToken: member.Access}}
	for range 3 { // more than a player may have: the follower's is closed
		others.greeted("")
	}
	noNews := func(is player.PartyEventKind) func(player.PartyEvent) bool {
		return func(e player.PartyEvent) bool {
			if e.Kind == player.PartyMatched {
				t.Errorf("told of a match that was over: %+v", e.Ticket)
			}
			return e.Kind == is
		}
	}
	_, err = leads.ChangeMembership(t.Context(), party.PartyID, player.Membership{Ready: true})
	s.must(err)
	until(t, events, noNews(player.PartyChanged))
	s.must(leads.PutOut(t.Context(), party.PartyID, member.PlayerID))
	until(t, events, noNews(player.PartyLeft))
}

// A player who leaves a party before the push knows about the membership still
// receives the news.
func TestLibrary_PartyLeftBeforeThePush(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	at, err := url.Parse(s.url)
	s.must(err)
	var open atomic.Bool
	way := httputil.NewSingleHostReverseProxy(at)
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/ws") && !open.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		way.ServeHTTP(w, r)
	}))
	t.Cleanup(between.Close)
	leads, _ := s.login(nil)
	joins, member := s.login(func(o *player.Config) { o.URL = between.URL })
	party := s.party(leads, joins)
	events := s.follow(joins, party.PartyID)
	until(t, events, func(e player.PartyEvent) bool { return e.Kind == player.PartyChanged })
	s.must(leads.PutOut(t.Context(), party.PartyID, member.PlayerID))
	open.Store(true)
	until(t, events, func(e player.PartyEvent) bool { return e.Kind == player.PartyLeft })
}
