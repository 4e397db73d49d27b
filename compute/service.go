package compute

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/internal/wake"
)

// Options configure the service. Zero durations mean the defaults, which are AWS's
// published limits or, where AWS publishes none, values that AWS's SDKs tolerate.
type Options struct {
	ReadyTimeout   time.Duration // from InitSDK to ProcessReady; default 5 min
	StopGrace      time.Duration // from being told to stop to being given up; default 5 min
	UnhealthyGrace time.Duration // the same for an unhealthy process; default 30 s
	ReconnectGrace time.Duration // from losing its socket to being given up; default 240 s
	RestartGrace   time.Duration // the same after a restart of Muster; default 300 s
	TokenLife      time.Duration // of a compute's auth token; default 3 h

	ComputesAFleet int          // quota; 0 means no limit
	Tokens         *auth.Master // required

	Registerer prometheus.Registerer // nil disables metrics
}

func (o Options) withDefaults() Options {
	o.ReadyTimeout = cmp.Or(o.ReadyTimeout, 5*time.Minute)
	o.StopGrace = cmp.Or(o.StopGrace, 5*time.Minute)
	o.UnhealthyGrace = cmp.Or(o.UnhealthyGrace, 30*time.Second)
	o.ReconnectGrace = cmp.Or(o.ReconnectGrace, 240*time.Second)
	o.RestartGrace = cmp.Or(o.RestartGrace, 300*time.Second)
	o.TokenLife = cmp.Or(o.TokenLife, 3*time.Hour)
	return o
}

// Deps are the services that a Service uses.
type Deps struct {
	Events *event.Log
	Fleets *fleet.Service
	Tags   *tag.Service
}

// Service is the interface for doors and the packages above.
type Service struct {
	*registry  // the computes
	*processes // what runs on them
	*taker     // which processes are free

	st         *store.Store
	opts       Options
	fleets     *fleet.Service
	loop       *wake.Loop
	deregister *store.Action[computeArgs]
	restart    *store.Command[struct{}, restarted]
	unmarked   atomic.Pointer[[]*Process] // what Restart has left for Run
	sweep      *store.Action[struct{}]
}

// New registers the package's tables and commands on the store.
func New(st *store.Store, d Deps, o Options) *Service {
	o = o.withDefaults()
	s := &Service{st: st, opts: o, fleets: d.Fleets}
	s.loop = wake.NewLoop(s.next, func(ctx context.Context) error { return s.sweep.Do(ctx, struct{}{}) })
	s.registry = newRegistry(st, d, o)
	s.processes = newProcesses(st, d, o, s.registry, s.loop.Nudge)
	s.taker = newTaker(s.processes)
	s.deregister = store.NewAction(st, "compute.deregister", s.runDeregister)
	s.restart = store.NewCommand(st, "process.restart", s.runRestart)
	s.sweep = store.NewAction(st, "process.sweep", s.runSweep)
	d.Fleets.OnDeleting(s.loop.Nudge)
	st.OnLostCommits(s.lostCommits)
	return s
}

// Options returns the options, with the defaults in place of zero values.
func (s *Service) Options() Options { return s.opts }

type computeArgs struct{ FleetID, Name string }

// Deregister removes a compute. Its processes count as ended immediately and are told to
// end; their sockets are dropped after a moment. Errors: NotFound, InvalidRequest (an
// instance).
func (s *Service) Deregister(ctx context.Context, fleetID, name string) error {
	return s.deregister.Do(ctx, computeArgs{fleetID, name})
}

func (s *Service) runDeregister(tx *store.Tx, a computeArgs) error {
	c, err := s.Find(tx, a.FleetID, a.Name)
	if err != nil {
		return err
	}
	if c.InstanceID != "" {
		return fault.Invalid("ComputeName: %s is an instance of fleet %s, which UpdateFleetCapacity removes", c.Name, c.FleetID)
	}
	s.remove(tx, c)
	return nil
}

// remove deletes a compute together with its processes.
func (s *Service) remove(tx *store.Tx, c *Compute) {
	for p := range s.On(tx, c.FleetID, c.Name) {
		s.finish(tx, p, event.ComputeDeregistered, "compute "+c.Name+" was deregistered")
	}
	s.registry.remove(tx, c)
}

// CheckToken returns an error unless a token lets the process connect now. An expired
// token remains valid for a process that is known and has not ended.
func (s *Service) CheckToken(ref Ref, token string, now time.Time) error {
	view := s.st.View()
	c := s.Get(view, ref.FleetID, ref.ComputeName)
	if c == nil {
		return fault.New(fault.Unauthorized, "compute %s of fleet %s is not registered", ref.ComputeName, ref.FleetID)
	}
	expires, ok := s.opts.Tokens.Check(token, grant(c))
	if !ok {
		return fault.New(fault.Unauthorized, "the auth token was not issued for compute %s of fleet %s", ref.ComputeName, ref.FleetID)
	}
	if now.After(expires) && !s.Lives(view, ref) {
		return fault.New(fault.Unauthorized, "the auth token ended at %s", expires.UTC().Format(time.RFC3339))
	}
	return nil
}
