package session

import (
	"context"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

// Options are the options of a Service. Zero members mean the defaults.
type Options struct {
	ReservationTimeout time.Duration // from RESERVED to TIMEDOUT; default 60 s, as at AWS
	Linger             time.Duration // how long ended sessions stay in memory; default 5 min
}

// Service provides game sessions and player sessions to the doors and the packages above.
type Service struct {
	st       *store.Store
	opts     Options
	events   *event.Log
	fleets   *fleet.Service
	computes *compute.Service
	t        tables
	loop     *wake.Loop

	activated, updated, ended []func(*store.Tx, *GameSession)

	cmd commands
}

type commands struct {
	create     *store.Command[CreateInput, *GameSession]
	update     *store.Command[UpdateInput, *GameSession]
	terminate  *store.Command[terminateArgs, *GameSession]
	reserve    *store.Command[ReserveInput, []*PlayerSession]
	activate   *store.Command[processArgs, struct{}]
	joinPolicy *store.Command[policyArgs, struct{}]
	accept     *store.Command[playerArgs, *PlayerSession]
	remove     *store.Command[playerArgs, struct{}]
	sweep      *store.Command[struct{}, struct{}]
}

// New registers the package's tables and commands on the store.
func New(st *store.Store, events *event.Log, fleets *fleet.Service, computes *compute.Service, opts Options) *Service {
	if opts.ReservationTimeout == 0 {
		opts.ReservationTimeout = time.Minute
	}
	if opts.Linger == 0 {
		opts.Linger = 5 * time.Minute
	}
	s := &Service{st: st, opts: opts, events: events, fleets: fleets, computes: computes, t: newTables(st)}
	s.cmd = commands{
		create:     store.NewCommand(st, "session.create", s.runCreate),
		update:     store.NewCommand(st, "session.update", s.runUpdate),
		terminate:  store.NewCommand(st, "session.terminate", s.runTerminate),
		reserve:    store.NewCommand(st, "session.reserve", s.runReserve),
		activate:   store.NewCommand(st, "session.activate", s.runActivate),
		joinPolicy: store.NewCommand(st, "session.join_policy", s.runJoinPolicy),
		accept:     store.NewCommand(st, "player.accept", s.runAccept),
		remove:     store.NewCommand(st, "player.remove", s.runRemove),
		sweep:      store.NewCommand(st, "session.sweep", s.runSweep),
	}
	s.loop = wake.NewLoop(s.next, s.sweep)
	computes.OnEnded(s.processEnded)
	computes.OnStopping(s.processStopping)
	return s
}

// Run ends overdue sessions and archives ended ones until ctx is done.
func (s *Service) Run(ctx context.Context) { s.loop.Run(ctx) }

// Players returns the number of slots in use: reserved and active player sessions.
func (s *Service) Players(r store.Reader, gameSessionID string) int {
	return s.t.slots.Count(r, gameSessionID)
}

// activating returns the number of ACTIVATING game sessions of a compute.
func (s *Service) activating(r store.Reader, fleetID, computeName string) int {
	return s.t.activating.Count(r, store.Key(fleetID, computeName))
}

// living returns a game session that is in memory. Errors: NotFound.
func (s *Service) living(r store.Reader, id string) (*GameSession, error) {
	if g := s.t.games.Get(r, id); g != nil {
		return g, nil
	}
	return nil, fault.Missing("GameSessionId: game session %s does not exist", id)
}

func (s *Service) put(tx *store.Tx, g *GameSession) {
	s.t.games.Put(tx, g)
	if !g.due().IsZero() {
		tx.OnCommit(s.loop.Nudge)
	}
}

func (s *Service) putPlayer(tx *store.Tx, p *PlayerSession) {
	s.t.players.Put(tx, p)
	if !p.due().IsZero() {
		tx.OnCommit(s.loop.Nudge)
	}
}

func (s *Service) record(tx *store.Tx, code event.Code, g *GameSession, text string) {
	ref := compute.ParseRef(g.ProcessKey)
	s.events.Append(tx, event.Event{
		Code: code, FleetID: g.FleetID, Location: g.Location, GameSessionID: g.ID,
		ComputeName: ref.ComputeName, ProcessID: ref.ProcessID, Message: text,
	})
}
