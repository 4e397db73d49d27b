package bots

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/wake"
	"github.com/musterhq/muster/sdk/session"
)

// crew is the bots of a run and what they share.
type crew struct {
	opts     Options
	api      api
	tracker  session.Tracker
	program  *Program
	house    house
	latency  latency
	stages   stages
	outcomes []Outcome
}

// newBot returns the bot with a number, from 1.
func (c *crew) newBot(n int) *bot {
	b := &bot{crew: c, id: "bot-" + session.NewPlayerID(), seed: uint64(n), stage: coming, matching: c.api, tracker: c.tracker}
	if c.opts.Via == Players {
		b.id, b.matching, b.tracker = "", nil, nil // it has to log in
	}
	return b
}

// Run sets up what the bots need, runs them all, and returns the results. When ctx
// ends, the bots leave their games first. The error is that of the setup or of the game's
// program; errors of bots are in the report.
func Run(ctx context.Context, o Options) (Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Report{}, err
	}
	aws := api{&o.Server}
	setup := setup{api: aws, opts: o}
	house, err := setup.run(ctx)
	if err != nil {
		return Report{}, err
	}
	program, err := StartProgram(context.WithoutCancel(ctx), o.Game)
	if err != nil {
		return Report{}, err
	}
	c := &crew{
		opts: o, api: aws, house: house, program: program, outcomes: make([]Outcome, o.Players),
		tracker: &session.Poller{Matchmaking: aws, Every: o.Poll, Backoff: 5 * time.Second},
	}
	begin := time.Now()
	if err = c.measure(ctx); err == nil {
		begin = time.Now()
		c.play(ctx)
	} else {
		err = fmt.Errorf("measure latency: %w", err)
	}
	return report(c.outcomes, time.Since(begin)), cmp.Or(err, program.Close())
}

// play starts the bots one after another and waits for all.
func (c *crew) play(ctx context.Context) {
	shown, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { c.show(shown) })
	var bots sync.WaitGroup
	pause := c.opts.Over / time.Duration(c.opts.Players)
	for i := range c.outcomes {
		c.stages.enter(coming)
		bots.Go(func() {
			wake.Sleep(ctx, time.Duration(i)*pause)
			b := c.newBot(i + 1)
			c.outcomes[i] = b.live(ctx)
			b.leave(ctx)
		})
	}
	bots.Wait()
	stop()
	watching.Wait()
	fmt.Fprintln(c.opts.Out, c.stages.line())
}

func (c *crew) show(ctx context.Context) {
	for wake.Sleep(ctx, c.opts.Every) {
		fmt.Fprintln(c.opts.Out, c.stages.line())
	}
}

// pause waits before another attempt: longer each time, at most about 5 seconds, with
// jitter. It reports whether ctx has not ended.
func pause(ctx context.Context, attempt int) bool {
	d := min(250*time.Millisecond<<min(attempt, 8), 5*time.Second)
	return wake.Sleep(ctx, time.Duration(float64(d)*(0.5+rand.Float64())))
}
