package gameapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/agent/gamelink"
	"github.com/musterhq/muster/internal/wait"
)

// line plays the connection to Muster in virtual time.
type line struct {
	mu     sync.Mutex
	asked  []string
	answer func(ctx context.Context, action string, members map[string]any, to any) error
}

func (l *line) Connected() bool { return true }

func (l *line) Ask(ctx context.Context, action string, members map[string]any, to any) error {
	l.mu.Lock()
	text := action
	if v, ok := members["HealthStatus"]; ok {
		text += fmt.Sprint(" ", v)
	}
	l.asked = append(l.asked, text)
	answer := l.answer
	l.mu.Unlock()
	if answer == nil {
		return nil
	}
	return answer(ctx, action, members, to)
}

// take returns what was asked since the last call.
func (l *line) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.asked
	l.asked = nil
	return all
}

// process returns a process that is connected by a line and has called ready, with a game
// session.
func process(l *line, r ReadyRequest) *Process {
	p := newProcess(Admission{ProcessID: "a", Token: "token-a"}, nil, nil, nil, slog.New(slog.DiscardHandler))
	p.link = l
	p.change(func(k *kept) { k.Ready, k.Announced, k.Session = &r, true, &Session{SessionID: "arn:g"} })
	p.health(HealthRequest{})
	return p
}

// A program that promised to say its health, and is silent, is reported as unhealthy, and
// as healthy when it speaks again; after end nothing is reported.
func TestProcess_Beats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &line{}
		p := process(l, ReadyRequest{HealthTimeout: 90})
		defer p.close()
		p.spawn(p.beat)
		want := func(beats ...string) {
			t.Helper()
			synctest.Wait()
			if got := l.take(); !slices.Equal(got, beats) {
				t.Errorf("asked %q, want %q", got, beats)
			}
		}
		want("HeartbeatServerProcess true")
		wait.Pass(time.Minute)
		want("HeartbeatServerProcess true")
		wait.Pass(2 * time.Minute)
		want("HeartbeatServerProcess false", "HeartbeatServerProcess false")
		p.health(HealthRequest{})
		wait.Pass(time.Minute)
		want("HeartbeatServerProcess true")
		p.leave(t.Context())
		wait.Pass(5 * time.Minute)
		want("TerminateServerProcess")
	})
}

// A player whose removal was not answered is removed by the next request; one who was never
// there is not.
func TestProcess_RemovesOnce(t *testing.T) {
	t.Parallel()
	state := "COMPLETED"
	l := &line{answer: func(_ context.Context, action string, members map[string]any, to any) error {
		if action == "RemovePlayerSession" {
			return &gamelink.Refusal{Action: action, Status: 400, Message: "it is " + state}
		}
		id, _ := members["PlayerSessionId"].(string)
		if all, ok := to.(*playerSessions); ok {
			all.PlayerSessions = []playerSession{{PlayerID: "ann", PlayerSessionID: id, GameSessionID: "arn:g", Status: state}}
		}
		return nil
	}}
	p := process(l, ReadyRequest{})
	defer p.close()
	p.kept.Taken = map[string]bool{"psess-1": true}
	if err := p.remove(t.Context(), "psess-1"); err != nil || p.kept.Taken["psess-1"] {
		t.Errorf("a repeated removal: %v, taken are %v", err, p.kept.Taken)
	}
	state = "RESERVED"
	if err := p.remove(t.Context(), "psess-2"); err == nil {
		t.Error("a player who has not come is removed")
	}
}

// A request that was not answered may be repeated, and finds what it did; a second player
// with the same player session is refused all the same.
func TestProcess_AcceptsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		accepted, away := map[string]bool{}, true
		l := &line{}
		l.answer = func(ctx context.Context, action string, members map[string]any, to any) error {
			id, _ := members["PlayerSessionId"].(string)
			switch action {
			case "AcceptPlayerSession":
				if accepted[id] && !away {
					return &gamelink.Refusal{Action: action, Status: 400, Message: "it is ACTIVE"}
				}
				accepted[id] = true
				if away { // the answer is lost
					<-ctx.Done()
					return ctx.Err()
				}
			case "DescribePlayerSessions":
				if away {
					<-ctx.Done()
					return ctx.Err()
				}
				to.(*playerSessions).PlayerSessions = []playerSession{{PlayerID: "ann", PlayerSessionID: id, GameSessionID: "arn:g", Status: "ACTIVE"}}
			}
			return nil
		}
		p := process(l, ReadyRequest{})
		defer p.close()
		accept := func(id, want string) {
			t.Helper()
			found, err := p.accept(t.Context(), PlayerRequest{id})
			refused, _ := errors.AsType[*Problem](err)
			got := found.PlayerID
			if refused != nil {
				got = refused.Code
			}
			if got != want {
				t.Errorf("accept %s: got %q (%v), want %q", id, got, err, want)
			}
		}
		accept("psess-1", "unreachable")
		accept("psess-1", "unreachable")
		away = false
		accept("psess-1", "ann")
		accept("psess-1", "player-refused")
		accept("psess-2", "ann")
		accept("psess-2", "player-refused")
		away = true // somebody presents psess-2 while Muster is away, and again afterwards
		accept("psess-2", "player-refused")
		away = false
		accept("psess-2", "player-refused")
		if err := p.remove(t.Context(), "psess-2"); err != nil || p.kept.Taken["psess-2"] || !p.kept.Taken["psess-1"] {
			t.Errorf("after psess-2 left: %v, taken are %v", err, p.kept.Taken)
		}
	})
}

// A player who was let in before a wrapped program called ready is accepted once.
func TestProcess_AcceptsEarlyPlayersOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &line{}
		l.answer = func(_ context.Context, action string, members map[string]any, to any) error {
			switch action {
			case "AcceptPlayerSession":
				return &gamelink.Refusal{Action: action, Status: 400, Message: "it is ACTIVE"}
			case "DescribePlayerSessions":
				to.(*playerSessions).PlayerSessions = []playerSession{{
					PlayerID: "ann", PlayerSessionID: members["PlayerSessionId"].(string), GameSessionID: "arn:g", Status: "ACTIVE",
				}}
			}
			return nil
		}
		managed := 0
		p := newProcess(Admission{ProcessID: "a", Token: "token-a", Port: 7}, &Wrapping{Muster: l, Managed: func() { managed++ }}, nil, nil, slog.New(slog.DiscardHandler))
		defer p.close()
		p.Push("CreateGameSession", []byte(`{"GameSessionId":"arn:g"}`))
		if _, err := p.accept(t.Context(), PlayerRequest{"psess-1"}); err == nil || err.(*Problem).Code != "not-ready" {
			t.Errorf("before ready: %v", err)
		}
		wait.Pass(time.Second)
		port := 8
		if err := p.ready(t.Context(), ReadyRequest{Port: &port}); err == nil || err.(*Problem).Member != "port" {
			t.Errorf("ready with another port: %v", err)
		}
		for range 2 {
			if err := p.ready(t.Context(), ReadyRequest{}); err != nil {
				t.Error(err)
			}
		}
		if managed != 1 {
			t.Errorf("managed %d times", managed)
		}
		if found, err := p.accept(t.Context(), PlayerRequest{"psess-1"}); err != nil || found.PlayerID != "ann" {
			t.Errorf("an early player: %+v, %v", found, err)
		}
		if _, err := p.accept(t.Context(), PlayerRequest{"psess-1"}); err == nil || err.(*Problem).Code != "player-refused" {
			t.Errorf("the same again: %v", err)
		}
	})
}

// What Muster refuses can be called again with other members; what it cannot do now is
// tried again by itself.
func TestProcess_Ready(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var status atomic.Int32
		status.Store(409)
		l := &line{}
		p := newProcess(Admission{ProcessID: "a", Token: "token-a", Port: 7}, nil, nil, nil, slog.New(slog.DiscardHandler))
		defer p.close()
		p.link = l
		l.answer = func(_ context.Context, action string, _ map[string]any, _ any) error {
			if action == "ActivateServerProcess" && status.Load() != 0 {
				return &gamelink.Refusal{Action: action, Status: int(status.Load()), Message: "no"}
			}
			return nil
		}
		if err := p.ready(t.Context(), ReadyRequest{}); err == nil || err.(*Problem).Status != 409 || !strings.Contains(err.Error(), "no") {
			t.Errorf("refused: %v", err)
		}
		if now, _ := p.Look(); now.State != Starting {
			t.Errorf("the state is %s", now.State)
		}
		status.Store(http.StatusServiceUnavailable)
		if err := p.ready(t.Context(), ReadyRequest{HealthTimeout: 30}); err != nil { // after a while
			t.Errorf("while Muster is busy: %v", err)
		}
		if now, _ := p.Look(); now.State != Starting {
			t.Errorf("the state is %s", now.State)
		}
		if err := p.ready(t.Context(), ReadyRequest{HealthTimeout: 31}); err == nil || err.(*Problem).Code != "already-ready" {
			t.Errorf("with other members: %v", err)
		}
		status.Store(0)
		if err := p.ready(t.Context(), ReadyRequest{HealthTimeout: 30}); err != nil {
			t.Errorf("again: %v", err)
		}
		if now, _ := p.Look(); now.State != Ready {
			t.Errorf("the state is %s", now.State)
		}
	})
}

// A process that ends without an error has ended in order if it was ready; another one, or
// one that never called ready, has not.
func TestProcess_Finish(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		clean, ended bool
		want         bool
		asked        []string
	}{
		{"exit 0", true, false, true, []string{"TerminateServerProcess"}},
		{"crash", false, false, false, nil},
		{"end, then a crash", false, true, true, nil},
	} {
		l := &line{}
		p := process(l, ReadyRequest{})
		p.change(func(k *kept) { k.Ended = c.ended })
		if got := p.finish(c.clean); got != c.want || !slices.Equal(l.take(), c.asked) {
			t.Errorf("%s: ended in order is %v, asked %q", c.name, got, l.asked)
		}
	}
}

// Of two connections that present the same player session at once, one is accepted.
func TestProcess_AcceptsOneAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &line{}
		accepted := false // guarded by l.mu
		l.answer = func(_ context.Context, action string, members map[string]any, to any) error {
			switch action {
			case "AcceptPlayerSession":
				l.mu.Lock()
				was := accepted
				accepted = true
				l.mu.Unlock()
				wait.Pass(time.Second)
				if was {
					return &gamelink.Refusal{Action: action, Status: 400, Message: "it is ACTIVE"}
				}
			case "DescribePlayerSessions":
				wait.Pass(time.Second)
				to.(*playerSessions).PlayerSessions = []playerSession{{PlayerID: "ann", PlayerSessionID: "psess-1", GameSessionID: "arn:g", Status: "ACTIVE"}}
			}
			return nil
		}
		p := process(l, ReadyRequest{})
		defer p.close()
		results := make(chan error, 8)
		for n := range 8 {
			go func() {
				wait.Pass(time.Duration(n) * 300 * time.Millisecond)
				_, err := p.accept(t.Context(), PlayerRequest{"psess-1"})
				results <- err
			}()
		}
		in := 0
		for range 8 {
			if err := <-results; err == nil {
				in++
			} else if r, ok := errors.AsType[*Problem](err); !ok || r.Code != "player-refused" {
				t.Errorf("refused by %v", err)
			}
		}
		if in != 1 {
			t.Errorf("%d connections were let in", in)
		}
	})
}

// Whatever Muster pushes, the state can be shown and kept.
func FuzzPush(f *testing.F) {
	f.Add("CreateGameSession", []byte(`{"GameSessionId":"arn:g","MatchmakerData":"{\"teams\":[{\"name\":\"red\",\"players\":[{\"playerId\":\"ann\",\"attributes\":{\"skill\":{\"attributeType\":\"DOUBLE\",\"valueAttribute\":3}}}]}]}"}`), []byte(`{}`))
	f.Add("UpdateGameSession", []byte(`{"GameSession":{"GameSessionId":"arn:g"},"UpdateReason":"MATCHMAKING_DATA_UPDATED","BackfillTicketId":"t"}`), []byte(`{"GameSessionId":"arn:g"}`))
	f.Add("TerminateProcess", []byte(`{"TerminationTime":9223372036854775807}`), []byte(`{"TerminationTime":-1}`))
	f.Fuzz(func(t *testing.T, action string, frame, first []byte) {
		p := newProcess(Admission{ProcessID: "a", Token: "token-a"}, nil, nil, nil, slog.New(slog.DiscardHandler))
		defer p.close()
		p.Push("CreateGameSession", first)
		p.Push(action, frame)
		now, _ := p.Look()
		if _, err := json.Marshal(now); err != nil {
			t.Errorf("the state cannot be shown: %v", err)
		}
		p.mu.Lock()
		p.kept.Ready = &ReadyRequest{}
		p.mu.Unlock()
		if m, err := p.match(BackfillRequest{Configuration: "arn:c"}); err == nil {
			if players, err := m.players(); err == nil {
				if _, err := json.Marshal(players); err != nil {
					t.Errorf("the players cannot be sent: %v", err)
				}
			}
		}
	})
}

// A repeated request for players starts nothing, and says what has become of the search.
func TestProcess_BackfillsOnce(t *testing.T) {
	t.Parallel()
	l := &line{answer: func(_ context.Context, action string, members map[string]any, to any) error {
		if action != "StartMatchBackfill" {
			return nil
		}
		if members["Repeatable"] != true {
			t.Errorf("asked without Repeatable: %v", members)
		}
		id, _ := members["TicketId"].(string)
		return json.Unmarshal([]byte(`{"TicketId":"`+cmp.Or(id, "generated")+`"}`), to)
	}}
	p := process(l, ReadyRequest{})
	defer p.close()
	start := func(id string, want Backfill, asks int) {
		t.Helper()
		got, err := p.startBackfill(t.Context(), BackfillRequest{TicketID: id, Configuration: "arn:c", Players: []BackfillPlayer{{PlayerID: "ann", Team: "all"}}})
		if err != nil || got != want || len(l.take()) != asks {
			t.Errorf("%q: %+v, %v; want %+v", id, got, err, want)
		}
	}
	start("t1", Backfill{"t1", Searching}, 1)
	start("t1", Backfill{"t1", Searching}, 0)
	p.updated([]byte(`{"GameSession":{"GameSessionId":"arn:g"},"UpdateReason":"BACKFILL_TIMED_OUT","BackfillTicketId":"t1"}`))
	start("t1", Backfill{"t1", TimedOut}, 0)
	start("t2", Backfill{"t2", Searching}, 1)
	start("", Backfill{"generated", Searching}, 1)
	start("", Backfill{"generated", Searching}, 1)
}
