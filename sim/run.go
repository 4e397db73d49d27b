package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/trace"
)

// Options of a simulation.
type Options struct {
	RuleSet *ruleset.RuleSet
	Label   string       // of the rule set, for the report
	Spec    *Spec        // players, and how they and their game sessions behave
	Trace   *trace.Trace // tickets to play instead of drawn ones; nil: draw
	For     time.Duration
	Seed    uint64
}

// MaxFor bounds the time that a simulation plays.
const MaxFor = 366 * 24 * time.Hour

// Run plays a simulation and reports it. The report follows from the options alone.
func Run(o Options) (*Report, error) {
	if o.For <= 0 || o.For > MaxFor {
		return nil, fmt.Errorf("simulate: the time to play must be above 0 and at most %s", MaxFor)
	}
	r := newRun(o)
	switch {
	case o.Trace != nil:
		r.source = replayOf(o.Trace, o.Spec, o.Seed)
	case len(o.Spec.Populations) == 0:
		return nil, errors.New("simulate: the specification has no populations, and there is no trace")
	default:
		if err := o.Spec.Fit(o.RuleSet); err != nil {
			return nil, fmt.Errorf("simulate: %w", err)
		}
		r.source = newCrowd(o.Spec, o.Seed)
	}
	if err := r.play(); err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	return r.report(), nil
}

// run is a simulation being played.
type run struct {
	Options
	clock
	opts   search.Options
	pool   *search.Pool
	source source
	rand   *rand.Rand // of what belongs to no player: lengths of game sessions, placements

	now      time.Duration
	arrivals uint64
	sessions int
	tickets  map[*search.Ticket]*ticket // all that are in play
	tally    tally
}

func newRun(o Options) *run {
	r := &run{Options: o, rand: rand.New(rand.NewPCG(o.Seed, 0)), tickets: map[*search.Ticket]*ticket{}}
	r.opts.AdditionalPlayerCount = o.Spec.Matchmaking.AdditionalPlayerCount
	r.pool = search.NewPool(o.RuleSet, r.opts, search.Limits{})
	r.tally = newTally(r)
	return r
}

// play lets everything happen in order of time: arrivals, what is due, then at
// each interval a pass.
func (r *run) play() error {
	pass := seconds(r.Spec.Matchmaking.PassInterval)
	coming, more, err := r.source.next()
	for due := pass; due <= r.For; due += pass {
		for {
			if err != nil {
				return err
			}
			at := r.next()
			arrives := more && coming.at <= min(at, due)
			if !arrives && at > due {
				break
			}
			if arrives {
				r.now = coming.at
				r.arrive(coming)
				coming, more, err = r.source.next()
				continue
			}
			r.now = at
			r.happen()
		}
		r.now = due
		r.pass()
	}
	r.now = r.For
	r.tally.end(r)
	return nil
}

// time is the time of the simulation, as the search sees it.
func (r *run) time() time.Time { return epoch.Add(r.now) }

func (r *run) pass() {
	r.tally.passes++
	for _, m := range r.pool.Pass(r.time()) {
		r.propose(m)
	}
	r.tally.tick(r)
}
