package flexmatch

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
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
	Limits         search.Limits         // of a pass
	Configurations int                   // quota; 0 means unlimited
	RuleSets       int                   // quota; 0 means unlimited
	Registerer     prometheus.Registerer // nil disables metrics
}

// Service provides matchmaking to the doors.
type Service struct {
	st         *store.Store
	opts       Options
	home       arn.Home
	events     *event.Log
	tags       *tag.Service
	sessions   *session.Service
	placements *placement.Service
	metrics    *metrics
	compiled   compiled
	matchers   *matchers
	waits      waits
	deadlines  *wake.Loop
	explains   chan struct{} // holds a token while an explanation is computed
	changed    []func(*store.Tx, *Ticket)
	t          tables
	cmd        commands
}

type commands struct {
	createRuleSet       *store.Command[RuleSetInput, *RuleSet]
	deleteRuleSet       *store.Command[string, struct{}]
	createConfiguration *store.Command[ConfigurationInput, *Configuration]
	updateConfiguration *store.Command[ConfigurationUpdate, *Configuration]
	deleteConfiguration *store.Command[string, struct{}]
	start               *store.Command[startArgs, *Ticket]
	stop                *store.Command[stopArgs, struct{}]
	accept              *store.Command[AcceptInput, struct{}]
	pass                *store.Command[passArgs, []string]
	sweep               *store.Command[sweepArgs, struct{}]
}

// Deps are the services that a Service uses.
type Deps struct {
	Home       arn.Home
	Events     *event.Log
	Tags       *tag.Service
	Sessions   *session.Service
	Placements *placement.Service
}

// New registers the package's tables and commands on the store.
func New(st *store.Store, deps Deps, opts Options) *Service {
	if opts.Interval == 0 {
		opts.Interval = 50 * time.Millisecond
	}
	if opts.Limits.Time == 0 {
		opts.Limits.Time, opts.Limits.Clock = passTime, time.Now
	}
	if opts.Linger == 0 {
		opts.Linger = 5 * time.Minute
	}
	s := &Service{
		st: st, opts: opts, home: deps.Home, events: deps.Events, tags: deps.Tags,
		sessions: deps.Sessions, placements: deps.Placements, t: newTables(st),
		explains: make(chan struct{}, 1),
	}
	s.matchers = newMatchers(s)
	s.metrics = newMetrics(opts.Registerer, s)
	s.deadlines = wake.NewLoop(s.nextDue, s.sweep)
	s.cmd = commands{
		createRuleSet:       store.NewCommand(st, "ruleset.create", s.runCreateRuleSet),
		deleteRuleSet:       store.NewCommand(st, "ruleset.delete", s.runDeleteRuleSet),
		createConfiguration: store.NewCommand(st, "matchmaking.create", s.runCreateConfiguration),
		updateConfiguration: store.NewCommand(st, "matchmaking.update", s.runUpdateConfiguration),
		deleteConfiguration: store.NewCommand(st, "matchmaking.delete", s.runDeleteConfiguration),
		start:               store.NewCommand(st, "ticket.start", s.runStart),
		stop:                store.NewCommand(st, "ticket.stop", s.runStop),
		accept:              store.NewCommand(st, "ticket.accept", s.runAccept),
		pass:                store.NewCommand(st, "ticket.pass", s.runPass),
		sweep:               store.NewCommand(st, "ticket.sweep", s.runSweep),
	}
	s.placements.OnEnded(s.placed)
	s.sessions.OnEnded(s.sessionEnded)
	s.sessions.OnUpdated(s.policyChanged)
	s.tags.Kind("matchmakingconfiguration", func(r store.Reader, a string) bool { return s.Configuration(r, a) != nil })
	s.tags.Kind("matchmakingruleset", func(r store.Reader, a string) bool {
		_, err := s.findRuleSet(r, a)
		return err == nil
	})
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

// put writes a ticket, calls the functions of OnChanged, and notifies its matcher and the
// deadlines on commit.
func (s *Service) put(tx *store.Tx, t *Ticket) {
	s.t.tickets.Put(tx, t)
	for _, f := range s.changed {
		f(tx, t)
	}
	configuration, id := t.Configuration, t.ID
	tx.OnCommit(func() {
		s.matchers.tell(configuration, id)
		s.deadlines.Nudge()
	})
}

// Active returns the number of tickets of a configuration that have not ended
// (CurrentTickets).
func (s *Service) Active(r store.Reader, configuration string) int {
	return s.t.active.Count(r, configuration)
}
