package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/pool"
	"github.com/musterhq/muster/flexmatch/trace"
)

// Options are the options of a simulation.
type Options struct {
	RuleSet *ruleset.RuleSet
	Label   string       // name of the rule set in the report
	Spec    *Spec        // players, and the behavior of players and game sessions
	Trace   *trace.Trace // tickets to replay; nil draws them from Spec
	For     time.Duration
	Seed    uint64

	// Stretches is into how many parts with about as many tickets a Trace is divided, so
	// that a comparison can tell how much its figures vary. It does not affect a report's
	// own figures.
	Stretches int
	// Step, if set, is called often, with the simulated time and the number of tickets in
	// play. It may take its time; an error ends the simulation, and Run returns it. The
	// simulation then uses one goroutine, that of its caller; without, matches are formed
	// by several. The report is the same.
	Step func(at time.Duration, tickets int) error
	// Reached, if set, is called at each pass with the simulated time. It must return at once.
	// After ErrStop the report is of the time until then; another error ends the simulation, and
	// Run returns it.
	Reached func(at time.Duration) error
}

// ErrStop says that a simulation is to end where it is.
var ErrStop = errors.New("stop the simulation here")

// MaxFor is the longest time that a simulation may play.
const MaxFor = 366 * 24 * time.Hour

// Run plays a simulation and returns its report, which depends on the options alone.
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

type run struct {
	Options
	clock
	opts     search.Options
	settings life.Settings
	timeout  time.Duration // of requests
	pool     *pool.Pool
	source   source
	rand     *rand.Rand // for lengths of game sessions and placements

	now       time.Duration
	arrivals  uint64
	sessions  int
	proposed  int
	ended     error                // by Step
	tickets   map[string]*ticket   // all tickets in play
	proposals map[string]*proposal // by id of the match
	games     map[string]*game     // those that are backfilled
	tally     tally
}

func newRun(o Options) *run {
	r := &run{Options: o, rand: rand.New(rand.NewPCG(o.Seed, 0)), tickets: map[string]*ticket{}, proposals: map[string]*proposal{}, games: map[string]*game{}}
	r.opts.AdditionalPlayerCount = o.Spec.Matchmaking.AdditionalPlayerCount
	m := o.Spec.Matchmaking
	r.settings = life.Settings{AcceptanceRequired: m.AcceptanceRequired, AcceptanceTimeout: seconds(m.AcceptanceTimeout), Queue: true}
	r.timeout = seconds(m.RequestTimeout)
	r.pool = pool.New(o.RuleSet, r.opts, r.limits())
	r.tally = newTally(r)
	return r
}

// play processes everything in order of time: arrivals, then due events, and a pass at
// each interval.
func (r *run) play() error {
	pass := seconds(r.Spec.Matchmaking.PassInterval)
	coming, more, err := r.source.next()
	for due := pass; due <= r.For; due += pass {
		for {
			if err != nil {
				return err
			}
			if err := r.step(); err != nil {
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
		if r.Reached != nil {
			if err := r.Reached(due); errors.Is(err, ErrStop) {
				r.For = due
				r.tally.stop(due)
			} else if err != nil {
				return err
			}
		}
	}
	r.now = r.For
	r.tally.end(r)
	return nil
}

// limits returns the limits of the search. With a Step its clock stands still, and calls
// Step: so searches are paced too.
func (r *run) limits() pool.Limits {
	if r.Step == nil {
		return pool.Limits{}
	}
	return pool.Limits{Workers: 1, Time: time.Hour, Clock: func() time.Time {
		if r.step() != nil {
			return epoch.Add(2 * time.Hour) // ends the pass
		}
		return epoch
	}}
}

// step lets the caller pace or end the simulation. It returns the error that ended it.
func (r *run) step() error {
	if r.Step != nil && r.ended == nil {
		r.ended = r.Step(r.now, len(r.tickets))
	}
	return r.ended
}

// time returns the current time of the simulation, as the search sees it.
func (r *run) time() time.Time { return epoch.Add(r.now) }

func (r *run) pass() {
	r.tally.passes++
	for _, m := range r.pool.Pass(r.time()) {
		r.propose(m)
	}
	r.tally.tick(r)
}
