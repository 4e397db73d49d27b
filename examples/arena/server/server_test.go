package server_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/musterhq/muster/examples/arena/bot"
	"github.com/musterhq/muster/examples/arena/server"
	"github.com/musterhq/muster/examples/arena/wire"
)

// reservations stands for the hosting service: it admits each reservation once.
type reservations struct {
	mu       sync.Mutex
	reserved map[string]bool
	removed  []string
	fail     error // if set, the next Accept returns it
}

func reserve(ids ...string) *reservations {
	r := &reservations{reserved: map[string]bool{}}
	for _, id := range ids {
		r.reserved[id] = true
	}
	return r
}

func (r *reservations) Accept(id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.fail; err != nil {
		r.fail = nil
		return err
	}
	if !r.reserved[id] {
		return server.ErrRefused
	}
	r.reserved[id] = false
	return nil
}

func (r *reservations) Remove(id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removed = append(r.removed, id)
	return nil
}

func listen(t *testing.T) *net.UDPConn {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// start runs a server; the returned function waits for its result.
func start(ctx context.Context, conn *net.UDPConn, sessions server.PlayerSessions) func() server.Result {
	done := make(chan server.Result, 1)
	s := server.New(conn, sessions, server.Options{TicksASecond: 200, Seed: 1, EmptyFor: 1})
	go func() { done <- s.Run(ctx) }()
	return func() server.Result { return <-done }
}

// playUntil lets a bot play until it has seen a number of snapshots, then leave.
func playUntil(t *testing.T, address, session string, snapshots int) bot.Result {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := 0
	result, err := bot.Play(ctx, bot.Options{Address: address, PlayerSessionID: session, Watch: func(wire.Snapshot) {
		if seen++; seen == snapshots {
			cancel()
		}
	}})
	if err != nil {
		t.Error(err)
	}
	return result
}

func TestRun_PlaysWithBotsAndEndsWhenTheyLeave(t *testing.T) {
	t.Parallel()
	ids := []string{"psess-1", "psess-2", "psess-3", "psess-4"}
	sessions := reserve(ids...)
	sessions.fail = errors.New("service away for a moment")
	conn := listen(t)
	wait := start(t.Context(), conn, sessions)
	address := conn.LocalAddr().String()

	keeper, cancelKeeper := context.WithCancel(t.Context())
	in := make(chan struct{})
	kept := make(chan bot.Result, 1)
	go func() { // holds the session open until the others are done
		once := sync.OnceFunc(func() { close(in) })
		result, _ := bot.Play(keeper, bot.Options{Address: address, PlayerSessionID: ids[0], Watch: func(wire.Snapshot) { once() }})
		kept <- result
	}()
	<-in
	if r := playUntil(t, address, "psess-forged", 1); r.Ending != bot.Refused || r.Reason != "session" || r.Played() {
		t.Errorf("forged session: got %+v", r)
	}
	if r := playUntil(t, address, ids[0], 1); r.Ending != bot.Refused {
		t.Errorf("session in use: got %+v", r)
	}
	results := make([]bot.Result, 3)
	var bots sync.WaitGroup
	for i, id := range ids[1:] {
		bots.Go(func() { results[i] = playUntil(t, address, id, 100) })
	}
	bots.Wait()
	for i, r := range results {
		if !r.Played() || r.Ending != bot.Left || r.Snapshots < 100 || r.Ticks < 99 || r.Place < 1 || r.Place > 4 {
			t.Errorf("bot %d: got %+v", i, r)
		}
	}
	if r := playUntil(t, address, ids[1], 1); r.Ending != bot.Refused {
		t.Errorf("session used up: got %+v", r)
	}
	cancelKeeper()
	if r := <-kept; r.Ending != bot.Left {
		t.Errorf("the last bot: got %+v", r)
	}
	result := wait()
	slices.Sort(sessions.removed)
	if result.End != server.EndEmpty || result.Players != 4 || !slices.Equal(sessions.removed, ids) {
		t.Errorf("got %+v, removed %v", result, sessions.removed)
	}
}

func TestRun_EndsWhenTheSocketFails(t *testing.T) {
	t.Parallel()
	conn := listen(t)
	wait := start(t.Context(), conn, reserve())
	conn.Close()
	if got := wait(); got.End != server.EndBroken {
		t.Errorf("got %+v", got)
	}
}

func TestPlay_RefusesSessionIDsThatDoNotFit(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", fmt.Sprintf("%257d", 0)} {
		if _, err := bot.Play(t.Context(), bot.Options{Address: "127.0.0.1:9", PlayerSessionID: id}); err == nil {
			t.Errorf("a session id of %d bytes was taken", len(id))
		}
	}
}
