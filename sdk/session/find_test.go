package session_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/sdk/session"
)

// netcode records where it was told to connect.
type netcode struct {
	joined []string
	err    error
}

func (n *netcode) Connect(_ context.Context, c session.Connection) error {
	n.joined = append(n.joined, c.Addr())
	return n.err
}

func (n *netcode) Disconnect(context.Context) error { return nil }

func request(players ...string) session.MatchRequest {
	r := session.MatchRequest{Configuration: "duel"}
	for _, id := range players {
		r.Players = append(r.Players, session.Player{ID: id})
	}
	return r
}

func TestFindMatch(t *testing.T) {
	unreachable := errors.New("no route")
	cases := []struct {
		name    string
		states  []session.TicketState
		players []string
		opts    session.MatchOptions
		connect error
		want    error
		joined  int
		answers []string
	}{
		{"straight", []session.TicketState{"SEARCHING", "COMPLETED"}, []string{"p1"}, session.MatchOptions{}, nil, nil, 1, nil},
		{"accepted by default", []session.TicketState{"REQUIRES_ACCEPTANCE", "REQUIRES_ACCEPTANCE", "PLACING", "COMPLETED"}, []string{"p1"},
			session.MatchOptions{}, nil, nil, 1, []string{"true [p1]"}},
		{"rejected", []session.TicketState{"REQUIRES_ACCEPTANCE", "CANCELLED"}, []string{"p1"},
			session.MatchOptions{Accept: func(context.Context, session.Ticket) bool { return false }}, nil, session.ErrMatchEnded, 0, []string{"false [p1]"}},
		{"timed out", []session.TicketState{"TIMED_OUT"}, []string{"p1"}, session.MatchOptions{}, nil, session.ErrMatchEnded, 0, nil},
		{"unreachable", []session.TicketState{"COMPLETED"}, []string{"p1"}, session.MatchOptions{}, unreachable, session.ErrConnect, 1, nil},
		{"no place for the own player", []session.TicketState{"COMPLETED"}, []string{"p1", "p2"},
			session.MatchOptions{Player: "p2"}, nil, session.ErrNoPlayerSession, 0, nil},
		{"no own player", nil, []string{"p1", "p2"}, session.MatchOptions{}, nil, session.ErrInvalid, 0, nil},
		{"unknown ticket", []session.TicketState{""}, []string{"p1"}, session.MatchOptions{}, nil, session.ErrNotFound, 0, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{states: map[string][]session.TicketState{"": c.states}}
				n := &netcode{err: c.connect}
				place, err := session.FindMatch(t.Context(), s, &session.Poller{Matchmaking: s}, n, request(c.players...), c.opts)
				if !errors.Is(err, c.want) || len(n.joined) != c.joined || !slices.Equal(s.answers, c.answers) {
					t.Errorf("got error %v, %d connections, answers %q", err, len(n.joined), s.answers)
				}
				if c.joined == 1 && place.Addr() != "192.0.2.1:7777" {
					t.Errorf("got place %+v", place)
				}
			})
		})
	}
}

func TestFindMatch_GivingUpCancelsTheTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{states: map[string][]session.TicketState{"": {"SEARCHING"}}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := session.FindMatch(ctx, s, &session.Poller{Matchmaking: s}, &netcode{}, request("p1"), session.MatchOptions{})
		if !errors.Is(err, context.DeadlineExceeded) || !slices.Equal(s.stopped, []string{s.started[0].TicketID}) {
			t.Errorf("got %v, stopped %q", err, s.stopped)
		}
	})
}
