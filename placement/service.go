package placement

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/internal/tracing"
	"github.com/musterhq/muster/internal/wake"
	"github.com/musterhq/muster/session"
)

// Options are the options of a Service. Zero members mean the defaults.
type Options struct {
	// UniqueIDs refuses a PlacementId that was ever used. By default the id of a
	// placement that ended without a game session may be reused: AWS's reference and its
	// older text differ (docs/divergences.md).
	UniqueIDs  bool
	Linger     time.Duration         // how long ended placements stay in memory; default 5 min
	Retention  time.Duration         // how long ended placements can be described; default Retention
	Queues     int                   // quota; 0 means unlimited
	Remotes    Remotes               // other deployments to which queues may lead
	Registerer prometheus.Registerer // nil disables metrics
	Tracer     *tracing.Tracer       // of the spans of placements; nil makes none
}

// Service provides queues and placements to the doors and the packages above.
type Service struct {
	Queues *Queues

	st       *store.Store
	opts     Options
	events   *event.Log
	fleets   *fleet.Service
	computes *compute.Service
	sessions *session.Service
	metrics  *metrics
	t        tables
	ended    []func(*store.Tx, *Placement)
	nudge    wake.Nudge
	away     *away
	retried  atomic.Uint64 // placements that returned to waiting since this node started
	cmd      commands
}

type commands struct {
	start   *store.Command[startArgs, *Placement]
	stop    *store.Command[string, *Placement]
	place   *store.Command[[]Proposal, int]
	answer  *store.Action[Answer]
	explain *store.Action[boardArgs]
	sweep   *store.Action[boardArgs]
	dismiss *store.Action[string]
}

// Deps are the services that a Service uses.
type Deps struct {
	Events   *event.Log
	Tags     *tag.Service
	Fleets   *fleet.Service
	Computes *compute.Service
	Sessions *session.Service
}

// New registers the package's tables and commands on the store.
func New(st *store.Store, deps Deps, opts Options) *Service {
	opts.Linger = cmp.Or(opts.Linger, 5*time.Minute)
	opts.Retention = cmp.Or(opts.Retention, Retention)
	s := &Service{
		st: st, opts: opts, events: deps.Events, fleets: deps.Fleets, computes: deps.Computes,
		sessions: deps.Sessions, t: newTables(st, opts.Retention), nudge: wake.NewNudge(),
	}
	s.away = newAway(s, opts.Remotes)
	s.Queues = newQueues(st, s.t.queues, deps, opts, s.Nudge, s.failPending)
	s.metrics = newMetrics(opts.Registerer, s)
	s.cmd = commands{
		start:   store.NewCommand(st, "placement.start", s.runStart),
		stop:    store.NewCommand(st, "placement.stop", s.runStop),
		place:   store.NewCommand(st, "placement.place", s.runPlace),
		answer:  store.NewAction(st, "placement.answer", s.away.runAnswer),
		explain: store.NewAction(st, "placement.explain", s.runExplain),
		sweep:   store.NewAction(st, "placement.sweep", s.runSweep),
		dismiss: store.NewAction(st, "placement.dismiss", s.runDismiss),
	}
	s.computes.OnFree(s.Nudge)
	s.sessions.OnActivated(s.fulfil)
	s.sessions.OnEnded(s.tryElsewhere)
	return s
}

// Nudge makes the loop look at waiting placements. It never blocks.
func (s *Service) Nudge() { s.nudge.Send() }

// resolve returns the fleet that a destination currently leads to, or the reason why
// there is none.
func (s *Service) resolve(r store.Reader, destination string) (*fleet.Fleet, Outcome) {
	if arn.IsFleet(destination) {
		if f := s.fleets.Get(r, destination); f != nil {
			return f, ""
		}
		return nil, NoSuchFleet
	}
	f, err := s.fleets.Aliases.Resolve(r, destination)
	switch {
	case fault.Is(err, fault.TerminalRoutingStrategy):
		return nil, TerminalAlias
	case err != nil:
		return nil, NoSuchFleet
	}
	return f, ""
}

func (s *Service) free(r store.Reader, f *fleet.Fleet, location string, most int) int {
	return s.sessions.Free(r, f, location, most)
}

// put writes a placement and nudges the loop on commit.
func (s *Service) put(tx *store.Tx, p *Placement) {
	s.t.placements.Put(tx, p)
	tx.OnCommit(s.Nudge)
	if len(s.away.remotes) > 0 {
		tx.OnCommit(s.away.surveys.Send)
	}
}

var _ capacity = (*Service)(nil)

// Get returns a placement that is pending or ended within Retention, with the current address of
// its game session, and its request.
// Errors: NotFound.
func (s *Service) Get(ctx context.Context, id string) (*Placement, *Request, error) {
	view := s.st.View()
	if p := s.t.placements.Get(view, id); p != nil {
		return s.located(view, p), s.t.requests.Get(view, id), nil
	}
	p, r, err := s.archived(ctx, id)
	if err == nil && p == nil {
		err = fault.Missing("PlacementId: placement %s does not exist", id)
	}
	if err != nil {
		return nil, nil, err
	}
	return s.located(view, p), r, nil
}

// located returns a placement with the current address of its game session, if that is one of
// this deployment and in memory: its machine may have come back with another address.
func (s *Service) located(r store.Reader, p *Placement) *Placement {
	g := s.sessions.Live(r, p.GameSessionID)
	if g == nil {
		return p
	}
	at := *p
	at.IPAddress, at.DNSName, at.Port = g.IPAddress, g.DNSName, g.Port
	return &at
}

// Live returns a placement in memory, pending or ended within Options.Linger, as of r, or
// nil.
func (s *Service) Live(r store.Reader, id string) *Placement { return s.t.placements.Get(r, id) }

// archived returns a placement from the archive, or nil.
func (s *Service) archived(ctx context.Context, id string) (*Placement, *Request, error) {
	byID := store.Query{Where: []store.Eq{{Column: "key", Value: id}}, Limit: 1}
	placements, err := s.t.placements.Archived(ctx, byID)
	if err != nil || len(placements) == 0 {
		return nil, nil, err
	}
	requests, err := s.t.requests.Archived(ctx, byID)
	if err != nil || len(requests) == 0 {
		return nil, nil, err
	}
	return placements[0], requests[0], nil
}
