package flexmatch

import (
	"cmp"
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/flexmatch/search/pool"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/internal/tracing"
	"github.com/musterhq/muster/internal/wake"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

// passTime bounds one pass. The rest is left to the next pass, so that no rule set
// monopolizes the processors.
const passTime = 300 * time.Millisecond

// Options are the options of a Service. Zero members mean the defaults.
type Options struct {
	Interval       time.Duration         // minimum delay from a change of a pool to the next pass; default 50 ms
	Linger         time.Duration         // how long ended tickets stay in memory; default 5 min
	Retention      time.Duration         // how long ended tickets can be described; default Retention
	Limits         pool.Limits           // of a pass
	Configurations int                   // quota; 0 means unlimited
	RuleSets       int                   // quota; 0 means unlimited
	Registerer     prometheus.Registerer // nil disables metrics
	Tracer         *tracing.Tracer       // of the spans of tickets; nil makes none
	Log            *slog.Logger          // default slog.Default()
}

// Deps are the services that a Service uses.
type Deps struct {
	Home       arn.Home
	Events     *event.Log
	Tags       *tag.Service
	Sessions   *session.Service
	Placements *placement.Service
}

// Service provides matchmaking to the doors. Its own methods are about tickets.
type Service struct {
	RuleSets       *RuleSets
	Configurations *Configurations

	st        *store.Store
	t         *tables
	tickets   *tickets
	backfills *backfills
	lives     *lives
	matchers  *matchers
	waits     *waits
	deadlines *wake.Loop
	explains  explanations
	cmd       struct {
		start  *store.Command[startArgs, *Ticket]
		stop   *store.Action[stopArgs]
		accept *store.Action[AcceptInput]
		sweep  *store.Action[sweepArgs]
	}
}

// New registers the package's tables and commands on the store.
func New(st *store.Store, d Deps, o Options) *Service {
	o.Interval = cmp.Or(o.Interval, 50*time.Millisecond)
	o.Linger = cmp.Or(o.Linger, 5*time.Minute)
	o.Retention = cmp.Or(o.Retention, Retention)
	o.Limits.Time = cmp.Or(o.Limits.Time, passTime)
	if o.Limits.Clock == nil {
		o.Limits.Clock = time.Now
	}
	s := &Service{st: st, t: newTables(st, o.Retention), waits: &waits{m: map[string][]waited{}}}
	s.deadlines = wake.NewLoop(s.nextDue, s.sweep)
	turns := newTurns(runtime.GOMAXPROCS(0), o.Limits.Clock)
	m := newMetrics(o.Registerer, st, s.t)
	s.RuleSets = newRuleSets(st, s.t, d, o.RuleSets)
	s.Configurations = newConfigurations(st, s.t, d, s.RuleSets, o.Configurations)
	s.tickets = &tickets{t: s.t, metrics: m, tracer: o.Tracer}
	s.tickets.roster = &roster{t: s.t, tickets: s.tickets, sessions: d.Sessions, configurations: s.Configurations, tags: d.Tags}
	s.backfills = &backfills{t: s.t, tickets: s.tickets, roster: s.tickets.roster, ruleSets: s.RuleSets, sessions: d.Sessions}
	s.lives = &lives{
		t: s.t, tickets: s.tickets, ruleSets: s.RuleSets, configurations: s.Configurations, backfills: s.backfills,
		events: d.Events, sessions: d.Sessions, placements: d.Placements, metrics: m, tracer: o.Tracer, waits: s.waits, deadlines: s.deadlines, linger: o.Linger,
	}
	s.matchers = &matchers{
		log: cmp.Or(o.Log, slog.Default()),
		st:  st, t: s.t, ruleSets: s.RuleSets, limits: o.Limits, turns: turns, interval: o.Interval, metrics: m, waits: s.waits,
		pass: store.NewCommand(st, "ticket.pass", s.lives.runPass), m: map[string]*matcher{}, fresh: wake.NewNudge(),
	}
	s.cmd.start = store.NewCommand(st, "ticket.start", s.runStart)
	s.cmd.stop = store.NewAction(st, "ticket.stop", s.runStop)
	s.cmd.accept = store.NewAction(st, "ticket.accept", s.runAccept)
	s.cmd.sweep = store.NewAction(st, "ticket.sweep", s.runSweep)
	s.Configurations.changed = func(name string) { s.matchers.of(name).notify() }
	s.tickets.committed = func(configuration, id string) {
		s.matchers.of(configuration).notify(id)
		s.deadlines.Nudge()
	}
	d.Placements.OnEnded(s.lives.placed)
	d.Sessions.OnEnded(s.lives.sessionEnded)
	d.Sessions.OnUpdated(s.lives.policyChanged)
	d.Sessions.OnPlayer(s.backfills.playerChanged)
	d.Sessions.OnReachable(func(tx *store.Tx, g *session.GameSession) { s.backfills.renew(tx, g.ID) })
	return s
}

// Run matches waiting tickets and ends overdue ones until ctx is done.
func (s *Service) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { s.deadlines.Run(ctx) })
	s.matchers.run(ctx)
	running.Wait()
}

// Resync makes every matcher rebuild its pool. Call it after the store was reloaded.
func (s *Service) Resync() { s.matchers.reset() }
