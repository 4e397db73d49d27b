package session

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

// Deps are the service's dependencies.
type Deps struct {
	Events   *event.Log
	Fleets   *fleet.Service
	Computes *compute.Service
}

// Options are the options of a Service. Zero members mean the defaults.
type Options struct {
	ReservationTimeout time.Duration // from RESERVED to TIMEDOUT; default 60 s, as at AWS
	Linger             time.Duration // how long ended sessions stay in memory; default 5 min
	Retention          time.Duration // how long ended sessions can be read; default Retention
}

// Service provides game sessions and player sessions to the doors and the packages above.
type Service struct {
	*Games
	hooks
	Players  *Players
	Refusals Refusals

	opts     Options
	fleets   *fleet.Service
	computes *compute.Service
	loop     *wake.Loop

	counted    func(store.Reader, string, string) int // Games.countActivating
	create     *store.Command[CreateInput, *GameSession]
	update     *store.Command[UpdateInput, *GameSession]
	terminate  *store.Command[terminateArgs, *GameSession]
	activate   *store.Action[processArgs]
	joinPolicy *store.Action[policyArgs]
	census     *store.Action[censusArgs]
	finish     *store.Action[processArgs]
	sweep      *store.Action[struct{}]
}

// New registers the package's tables and commands on the store.
func New(st *store.Store, d Deps, o Options) *Service {
	o.ReservationTimeout = cmp.Or(o.ReservationTimeout, time.Minute)
	o.Linger = cmp.Or(o.Linger, 5*time.Minute)
	o.Retention = cmp.Or(o.Retention, Retention)
	s := &Service{opts: o, fleets: d.Fleets, computes: d.Computes}
	s.loop = wake.NewLoop(s.next, func(ctx context.Context) error { return s.sweep.Do(ctx, struct{}{}) })
	s.Games = newGames(st, d.Events, o, s.loop.Nudge)
	s.Players = newPlayers(s.Games, d.Computes, o)
	s.Players.changed = func(tx *store.Tx, p *PlayerSession) { call(tx, s.players, p) }
	s.counted = s.countActivating
	s.create = store.NewCommand(st, "session.create", s.runCreate)
	s.update = store.NewCommand(st, "session.update", s.runUpdate)
	s.terminate = store.NewCommand(st, "session.terminate", s.runTerminate)
	s.activate = store.NewAction(st, "session.activate", s.runActivate)
	s.joinPolicy = store.NewAction(st, "session.join_policy", s.runJoinPolicy)
	s.census = store.NewAction(st, "session.census", s.runCensus)
	s.finish = store.NewAction(st, "session.finish", s.runFinish)
	s.sweep = store.NewAction(st, "session.sweep", s.runSweep)
	d.Computes.OnEnded(s.processEnded)
	d.Computes.OnStopping(s.processStopping)
	d.Computes.OnConnection(s.processReached)
	d.Computes.OnMoved(s.computeMoved)
	return s
}

// Run ends overdue sessions and archives ended ones until ctx is done.
func (s *Service) Run(ctx context.Context) { s.loop.Run(ctx) }

// next returns the earliest deadline of any session, or zero.
func (s *Service) next() time.Time {
	view := s.st.View()
	return wake.Earliest(s.due.NextDue(view), s.Players.due.NextDue(view))
}

// runSweep ends game sessions that were not activated in time, archives those that have
// ended, and sweeps player sessions.
func (s *Service) runSweep(tx *store.Tx, _ struct{}) error {
	for g := range s.due.Due(tx, tx.Now()) {
		if g.Status.Ended() {
			s.table.Archive(tx, g.ID)
			continue
		}
		text := "the process did not call ActivateGameSession in time"
		failed := *g
		failed.Cause, failed.How = event.GameSessionActivationTimeout, text
		s.end(tx, &failed, text)
		s.computes.Terminate(tx, g.ProcessKey, event.GameSessionActivationTimeout, text)
	}
	s.Players.sweep(tx)
	return nil
}

// processReached passes on that a process has lost its connection, or is connected again.
func (s *Service) processReached(tx *store.Tx, p *compute.Process) {
	g := s.Live(tx, p.GameSessionID)
	if g != nil && !g.Status.Ended() {
		call(tx, s.reached, g)
	}
}

// computeMoved sets the address of the game sessions on a compute that has another one.
func (s *Service) computeMoved(tx *store.Tx, m compute.Move) {
	at := m.Address.Shown()
	for p := range s.computes.On(tx, m.FleetID, m.Name) {
		old := s.Live(tx, p.GameSessionID)
		if old == nil || old.Status.Ended() || old.Address == at || !m.Moves(p) {
			continue
		}
		g := *old
		g.Address = at
		s.put(tx, &g)
		s.record(tx, event.GameSessionUpdated, &g, "players reach it at "+at.Text())
		call(tx, s.moved, &g)
	}
}

// processStopping moves the game session of a process that was told to end to
// TERMINATING.
func (s *Service) processStopping(tx *store.Tx, p *compute.Process) {
	old := s.Live(tx, p.GameSessionID)
	if old == nil || (old.Status != Active && old.Status != Activating) {
		return
	}
	g := *old
	g.move(Terminating)
	s.put(tx, &g)
	s.settle(tx, old)
	s.record(tx, event.GameSessionTerminating, &g, "")
}

// processEnded ends the game session of a process that has ended.
func (s *Service) processEnded(tx *store.Tx, p *compute.Process, how string) {
	g := s.Live(tx, p.GameSessionID)
	if g == nil || g.Status.Ended() {
		return
	}
	if p.Why != event.ProcessEnded {
		failed := *g
		failed.Cause, failed.How = p.Why, shortened(how)
		g = &failed
	}
	s.end(tx, g, "")
}

// longestHow is the longest text, in bytes, about why a game session ended.
const longestHow = 512

// shortened returns the beginning of a text that is longer than longestHow.
func shortened(how string) string {
	if len(how) <= longestHow {
		return how
	}
	return strings.ToValidUTF8(how[:longestHow-len("…")], "") + "…"
}

// end ends a game session and its player sessions.
func (s *Service) end(tx *store.Tx, old *GameSession, text string) {
	g := *old
	g.move(Terminated)
	g.Ended, g.Others = tx.Now(), 0
	g.ArchiveAt = s.archiveAt(tx, &g, tx.Now())
	s.put(tx, &g)
	s.settle(tx, old)
	s.record(tx, event.GameSessionTerminated, &g, text)
	s.Players.endAll(tx, g.ID)
	call(tx, s.ended, &g)
}

// settle notifies compute if old was ACTIVATING: its compute may activate another one.
func (s *Service) settle(tx *store.Tx, old *GameSession) {
	if old.Status == Activating {
		s.computes.Activated(tx)
	}
}

// archiveAt returns when an ended session is archived: after Options.Linger, and not
// before it stops counting against its creator's limit.
func (s *Service) archiveAt(r store.Reader, g *GameSession, now time.Time) time.Time {
	at := now.Add(s.opts.Linger)
	if f := s.fleets.Get(r, g.FleetID); f != nil && f.CreationLimit != nil && g.CreatorID != "" {
		if until := g.Created.Add(f.CreationLimit.Period); until.After(at) {
			return until
		}
	}
	return at
}
