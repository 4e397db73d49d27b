package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/musterhq/muster/console"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/trace"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/sim"
)

// Bounds of a simulation, beside those of the specification.
const (
	MaxMinutes = 24 * 60
	MaxRuns    = 20
	MaxPlayers = 60_000 // of one run
	MaxTraced  = 30_000 // tickets of a trace
	MaxInPlay  = 10_000 // tickets at one time
	MaxPasses  = 200_000
)

// Lab runs simulations beside the matchmaking of its server.
type Lab struct {
	// Trace returns the tickets of a configuration that were started since a time, at most
	// as many. Errors: NotFound.
	Trace func(ctx context.Context, configuration string, since time.Time, most int) ([]trace.Ticket, error)
	// Share is the share of one processor that a simulation may use, above 0 and at most 1.
	Share float64
	// Most is how long a simulation may take.
	Most time.Duration
}

// New returns a Lab whose simulations use at most an eighth of the processors that the
// program may use, and never more than one.
func New(traced func(context.Context, string, time.Time, int) ([]trace.Ticket, error)) *Lab {
	return &Lab{Trace: traced, Share: min(1, float64(runtime.GOMAXPROCS(0))/8), Most: 2 * time.Minute}
}

// Result is what a simulation has shown.
type Result struct {
	*sim.Comparison
	Gains   string  `json:"gains"` // sentences; "" if there is nothing to say
	Losses  string  `json:"losses"`
	Unclear string  `json:"unclear"`
	Took    float64 `json:"took_seconds"`
	Early   bool    `json:"early"` // ended by the bound on time: it is of fewer runs than asked for
	Cut     bool    `json:"cut"`   // the configuration had more tickets than MaxTraced
}

// Simulate plays two rule sets on the same tickets, or one alone. It calls tell often, with the state of
// the work. Errors: InvalidRequest, NotFound (configuration), LimitExceeded, ctx's.
func (l *Lab) Simulate(ctx context.Context, in *console.Simulation, tell func(console.Progress) error) (any, error) {
	o, runs, err := l.options(in)
	if err != nil {
		return nil, err
	}
	var sides [2]sim.Side
	for i, body := range []string{in.A, in.B} {
		side := sim.Side{Label: [2]string{"a", "b"}[i]}
		if i == 0 && (body == "" || body == in.B) {
			continue // one rule set alone
		}
		var wrong ruleset.Errors
		if side.RuleSet, err = ruleset.Parse(body); errors.As(err, &wrong) {
			return nil, fault.Invalid("%s: is no rule set: %s", side.Label, wrong)
		}
		sides[i] = side
	}
	if sides[0].RuleSet == nil {
		sides[0] = sides[1]
	}
	w := &worker{lab: l, ctx: ctx, tell: tell, begun: time.Now()}
	cut := false
	if in.Since != nil {
		if cut, err = l.traced(ctx, in, o); err != nil {
			return nil, err
		}
	}
	if err := checkSize(o); err != nil {
		return nil, err
	}
	w.span = o.For
	o.Step = w.step
	w.resumed = time.Now()
	both, err := sim.Versus(*o, sides[0], sides[1], runs, func(done, all int) { w.done, w.all = done, all })
	switch {
	case errors.Is(err, sim.ErrEnough):
		return nil, fault.New(fault.LimitExceeded, "the simulation took longer than %s, which is the bound, before both rule sets were played once; simulate fewer players or minutes, or use muster simulate", l.Most)
	case err != nil && w.failed == nil:
		return nil, fault.Invalid("%s", err) // the specification does not fit
	case err != nil:
		return nil, w.failed
	}
	out := &Result{Comparison: both, Took: math.Round(time.Since(w.begun).Seconds()*10) / 10, Cut: cut, Early: o.Trace == nil && both.Runs < runs}
	out.Gains, out.Losses, out.Unclear = both.Words()
	return out, nil
}

// options returns the options that a request describes, without a trace.
func (l *Lab) options(in *console.Simulation) (o *sim.Options, runs int, err error) {
	players := in.Players
	if len(players) == 0 {
		players = []byte("{}")
	}
	spec, err := sim.ReadSpec(players)
	if err != nil {
		return nil, 0, fault.Invalid("players: %s", err)
	}
	switch {
	case in.Runs < 1 || in.Runs > MaxRuns:
		return nil, 0, fault.Invalid("runs: must be from 1 to %d", MaxRuns)
	case in.Since == nil && !(in.Minutes > 0 && in.Minutes <= MaxMinutes):
		return nil, 0, fault.Invalid("minutes: must be above 0 and at most %d", MaxMinutes)
	case in.Since == nil && len(spec.Populations) == 0:
		return nil, 0, fault.Invalid("players.populations: at least one is required without since")
	case in.Since != nil && in.Configuration == "":
		return nil, 0, fault.Invalid("configuration: required with since")
	}
	return &sim.Options{Spec: spec, For: time.Duration(in.Minutes * float64(time.Minute)), Seed: in.Seed}, in.Runs, nil
}

// traced fills in the tickets of a configuration, and reports whether there are more than
// fit.
func (l *Lab) traced(ctx context.Context, in *console.Simulation, o *sim.Options) (cut bool, err error) {
	tickets, err := l.Trace(ctx, in.Configuration, *in.Since, MaxTraced)
	if err != nil {
		return false, err
	}
	if len(tickets) == 0 {
		return false, fault.Invalid("since: %s has no tickets since %s; simulate drawn players instead", in.Configuration, in.Since.UTC().Format(time.RFC3339))
	}
	o.Trace = &trace.Trace{Tickets: tickets}
	o.For = o.Trace.Ends() + time.Duration((o.Spec.Matchmaking.RequestTimeout+1)*float64(time.Second))
	return len(tickets) == MaxTraced, nil
}

// checkSize refuses what would take too much time or memory.
func checkSize(o *sim.Options) error {
	if passes := o.For.Seconds() / o.Spec.Matchmaking.PassInterval; passes > MaxPasses {
		return fault.New(fault.LimitExceeded, "players.matchmaking.pass_interval_seconds: %.0f passes are more than %d, which is the bound; simulate fewer minutes, or passes further apart", passes, MaxPasses)
	}
	if o.Trace != nil {
		return nil
	}
	if n := o.Spec.Players(o.For); n > MaxPlayers {
		return fault.New(fault.LimitExceeded, "players: about %.0f would come in a run, and at most %d are simulated; simulate fewer players or minutes, or use muster simulate", n, MaxPlayers)
	}
	return nil
}

// worker paces a simulation, and reports its state.
type worker struct {
	lab       *Lab
	ctx       context.Context
	tell      func(console.Progress) error
	begun     time.Time
	resumed   time.Time // when it last began to work
	done, all int       // runs
	span      time.Duration
	failed    error // what ended it, if not the bound on time
}

// slice is how long a simulation works before it rests.
const slice = 2 * time.Millisecond

// step rests after each slice of work, so that the simulation uses no more than its
// share of a processor.
func (w *worker) step(at time.Duration, tickets int) error {
	now := time.Now()
	worked := now.Sub(w.resumed)
	if worked < slice {
		return nil
	}
	if err := w.ctx.Err(); err != nil {
		return w.fail(err)
	}
	if tickets > MaxInPlay {
		return w.fail(fault.New(fault.LimitExceeded, "more than %d tickets are in play at the same time, which is the bound: with these rules they come faster than they are matched; simulate fewer players or minutes", MaxInPlay))
	}
	if now.Sub(w.begun) > w.lab.Most {
		return sim.ErrEnough
	}
	share := (float64(w.done) + at.Seconds()/w.span.Seconds()) / float64(max(w.all, 1))
	p := console.Progress{Done: math.Round(share*1000) / 1000, Run: w.done + 1, Runs: w.all, InPlay: tickets}
	if elapsed := now.Sub(w.begun).Seconds(); share > 0.01 {
		p.Left = math.Round(min(elapsed*(1-share)/share, w.lab.Most.Seconds()-elapsed)*10) / 10
	}
	if err := w.tell(p); err != nil {
		return w.fail(err)
	}
	rest := time.NewTimer(time.Duration(float64(worked) * (1/w.lab.Share - 1)))
	defer rest.Stop()
	select {
	case <-w.ctx.Done():
		return w.fail(w.ctx.Err())
	case <-rest.C:
	}
	w.resumed = time.Now()
	return nil
}

func (w *worker) fail(err error) error {
	w.failed = err
	return fmt.Errorf("stopped: %w", err)
}
