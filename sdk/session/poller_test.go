package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/sdk/session"
)

// script is a Matchmaking whose tickets take the given states, one for each request for
// them; the last one stays. An empty state is an unknown ticket.
type script struct {
	session.Matchmaking
	mu       sync.Mutex
	states   map[string][]session.TicketState
	failures []error // returned by the next requests
	asked    [][]string
	at       []time.Time
	answers  []string
	stopped  []string
	started  []session.MatchRequest
}

func (s *script) StartMatchmaking(_ context.Context, r session.MatchRequest) (session.Ticket, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = append(s.started, r)
	if states, ok := s.states[""]; ok {
		s.states[r.TicketID] = states
	}
	return session.Ticket{ID: r.TicketID, State: session.Queued}, nil
}

func (s *script) StopMatchmaking(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = append(s.stopped, id)
	return nil
}

func (s *script) AcceptMatch(_ context.Context, id string, accept bool, players ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, fmt.Sprintf("%v %v", accept, players))
	return nil
}

func (s *script) DescribeTickets(_ context.Context, ids ...string) ([]session.Ticket, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.at = append(s.asked, slices.Sorted(slices.Values(ids))), append(s.at, time.Now())
	if len(s.failures) > 0 {
		err := s.failures[0]
		s.failures = s.failures[1:]
		return nil, err
	}
	var tickets []session.Ticket
	for _, id := range ids {
		states := s.states[id]
		if len(states) > 1 {
			s.states[id] = states[1:]
		}
		if len(states) == 0 || states[0] == "" {
			continue
		}
		t := session.Ticket{ID: id, State: states[0]}
		if t.State == session.Completed {
			t.Connections = map[string]session.Connection{"p1": {PlayerID: "p1", IPAddress: "192.0.2.1", Port: 7777}}
		}
		tickets = append(tickets, t)
	}
	return tickets, nil
}

// track collects a ticket's events as "kind STATE".
func track(ctx context.Context, p *session.Poller, ids ...string) []string {
	var got []string
	for e := range p.Track(ctx, ids...) {
		got = append(got, fmt.Sprintf("%s %s", e.Kind, e.Ticket.State))
	}
	return got
}

func TestPoller_TellsChangesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{states: map[string][]session.TicketState{"t": {
			"QUEUED", "SEARCHING", "SEARCHING", "REQUIRES_ACCEPTANCE", "REQUIRES_ACCEPTANCE",
			"SEARCHING", "REQUIRES_ACCEPTANCE", "PLACING", "COMPLETED",
		}}}
		begin := time.Now()
		got := track(t.Context(), &session.Poller{Matchmaking: s}, "t", "t")
		want := []string{"progress QUEUED", "progress SEARCHING", "acceptance required REQUIRES_ACCEPTANCE", "progress SEARCHING",
			"acceptance required REQUIRES_ACCEPTANCE", "progress PLACING", "match complete COMPLETED"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if took := time.Since(begin); took < 72*time.Second || took > 88*time.Second {
			t.Errorf("9 requests took %v, want 8 pauses of 10 s ±10 %%", took)
		}
	})
}

func TestPoller_AsksForManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{states: map[string][]session.TicketState{}}
		p := &session.Poller{Matchmaking: s}
		var trackers sync.WaitGroup
		for i := range 25 {
			s.states[fmt.Sprint("t", i)] = []session.TicketState{"SEARCHING", "SEARCHING", "TIMED_OUT"}
		}
		for i := range 25 {
			id := fmt.Sprint("t", i)
			trackers.Go(func() {
				if got := track(t.Context(), p, id); !slices.Equal(got, []string{"progress SEARCHING", "match failed TIMED_OUT"}) {
					t.Errorf("%s: got %q", id, got)
				}
			})
		}
		trackers.Wait()
		synctest.Wait()
		if rounds := len(s.asked); rounds > 30 {
			t.Errorf("got %d requests for 25 tickets asked for three times each", rounds)
		}
		if len(s.asked[len(s.asked)-1]) != 25 {
			t.Errorf("the last request was for %d tickets, want all 25", len(s.asked[len(s.asked)-1]))
		}
	})
}

func TestPoller_BacksOffAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := fmt.Errorf("busy: %w", session.ErrThrottled)
		s := &script{failures: []error{busy, busy, busy}, states: map[string][]session.TicketState{"t": {"COMPLETED"}}}
		got := track(t.Context(), &session.Poller{Matchmaking: s, Every: time.Second}, "t")
		if want := []string{"track error ", "track error ", "track error ", "match complete COMPLETED"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		for i, least := range []time.Duration{1800, 3600, 7200} {
			if pause := s.at[i+1].Sub(s.at[i]); pause < least*time.Millisecond {
				t.Errorf("pause %d was %v, want each twice the one before", i, pause)
			}
		}
	})
}

func TestPoller_GivesUpOnUnknownTickets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{states: map[string][]session.TicketState{"late": {"", "", "QUEUED", "", "", "CANCELLED"}, "known": {"COMPLETED"}}}
		p := &session.Poller{Matchmaking: s}
		var last session.TicketEvent
		for e := range p.Track(t.Context(), "never", "known") {
			last = e
		}
		if last.Kind != session.TrackError || !errors.Is(last.Err, session.ErrNotFound) || !last.Last() || len(s.asked) != 3 {
			t.Errorf("got %+v after %d requests, want not found after 3", last, len(s.asked))
		}
		if got, want := track(t.Context(), p, "late"), []string{"progress QUEUED", "match failed CANCELLED"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q: it was never missing three times in a row", got, want)
		}
	})
}

func TestPoller_EndsWithItsTrackers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{states: map[string][]session.TicketState{"t": {"SEARCHING"}}}
		ctx, cancel := context.WithTimeout(t.Context(), 35*time.Second)
		defer cancel()
		got := track(ctx, &session.Poller{Matchmaking: s}, "t")
		if !slices.Equal(got, []string{"progress SEARCHING"}) {
			t.Errorf("got %q", got)
		}
		asked := len(s.asked)
		pass(time.Hour) // in the bubble: the loop must have ended, or it keeps polling
		if len(s.asked) != asked {
			t.Errorf("%d requests were made with nobody tracking", len(s.asked)-asked)
		}
	})
}

// A slow tracker, such as one that shows a dialog, blocks nobody and gets the newest
// state.
func TestPoller_SlowTracker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{states: map[string][]session.TicketState{
			"slow": {"QUEUED", "SEARCHING", "PLACING", "COMPLETED"}, "quick": {"QUEUED", "SEARCHING", "COMPLETED"}}}
		p := &session.Poller{Matchmaking: s}
		var slow []session.TicketState
		var both sync.WaitGroup
		both.Go(func() {
			for e := range p.Track(t.Context(), "slow") {
				slow = append(slow, e.Ticket.State)
				pass(time.Hour)
			}
		})
		begin := time.Now()
		track(t.Context(), p, "quick")
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("the other tracker took %v", took)
		}
		both.Wait()
		if want := []session.TicketState{"QUEUED", "COMPLETED"}; !slices.Equal(slow, want) {
			t.Errorf("the slow tracker saw %q, want %q", slow, want)
		}
	})
}

// pass lets d of a bubble's time pass.
func pass(d time.Duration) { <-time.After(d) }
