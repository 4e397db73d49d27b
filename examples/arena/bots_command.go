package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/musterhq/muster/examples/arena/bot"
	"github.com/musterhq/muster/examples/arena/wire"
)

// botsOrder is a line on standard input: to play, or to leave.
type botsOrder struct {
	Bot             int    `json:"bot"`
	Address         string `json:"address"`
	PlayerSessionID string `json:"player_session_id"`
	PlayMS          int64  `json:"play_ms"`
	ActMS           int64  `json:"act_ms"`
	SilentMS        int64  `json:"silent_ms"`
	ProgressMS      int64  `json:"progress_ms"`
	Seed            uint64 `json:"seed"`
	Leave           bool   `json:"leave"`
}

// botsAnswer is a line on standard output.
type botsAnswer struct {
	Bot      int    `json:"bot"`
	State    string `json:"state"`
	Progress int    `json:"progress,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// host plays for many bots, as it is ordered.
type host struct {
	ctx     context.Context
	playing sync.WaitGroup

	mu    sync.Mutex
	out   *json.Encoder
	leave map[int]context.CancelFunc
}

// runHost is `arena bots`: it plays as standard input says until that ends.
func runHost(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("arena bots", flag.ContinueOnError)
	flags.SetOutput(stderr)
	if code, ok := parse(flags, args); !ok {
		return code
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := &host{ctx: ctx, out: json.NewEncoder(stdout), leave: map[int]context.CancelFunc{}}
	err := h.follow(stdin)
	cancel()
	h.playing.Wait()
	if err != nil {
		fmt.Fprintf(stderr, "arena bots: %v\n", err)
		return exitFailed
	}
	return exitDone
}

func (h *host) follow(stdin io.Reader) error {
	lines := bufio.NewScanner(stdin)
	for lines.Scan() {
		var o botsOrder
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return fmt.Errorf("read an order: %w", err)
		}
		h.carryOut(o)
	}
	return lines.Err()
}

func (h *host) carryOut(o botsOrder) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if o.Leave {
		if leave := h.leave[o.Bot]; leave != nil {
			leave()
		}
		return
	}
	ctx, leave := context.WithCancel(h.ctx)
	h.leave[o.Bot] = leave
	h.playing.Go(func() {
		h.play(ctx, o)
		leave()
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.leave, o.Bot)
	})
}

func (h *host) play(ctx context.Context, o botsOrder) {
	opts := bot.Options{
		Address: o.Address, PlayerSessionID: o.PlayerSessionID, Seed: o.Seed,
		For: ms(o.PlayMS), ActEvery: ms(o.ActMS), JoinFor: ms(o.SilentMS), SilentFor: ms(o.SilentMS),
		Joined: func() { h.say(botsAnswer{Bot: o.Bot, State: "joined"}) },
	}
	if o.ProgressMS > 0 {
		seen, said := 0, time.Now()
		opts.Watch = func(wire.Snapshot) {
			if seen++; time.Since(said) >= ms(o.ProgressMS) {
				said = time.Now()
				h.say(botsAnswer{Bot: o.Bot, State: "progress", Progress: seen})
			}
		}
	}
	result, err := bot.Play(ctx, opts)
	h.say(ended(o.Bot, result, err))
}

func ended(number int, result bot.Result, err error) botsAnswer {
	a := botsAnswer{Bot: number, State: "played", Reason: result.Reason}
	switch {
	case err != nil:
		a.State, a.Reason = "failed", err.Error()
	case result.Played():
	case result.Ending == bot.Refused, result.Ending == bot.Lost:
		a.State = string(result.Ending)
	default:
		a.State = string(bot.Unanswered)
	}
	return a
}

func (h *host) say(a botsAnswer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.out.Encode(a) // nobody listens any more: standard input ends as well
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
