package compute

import (
	"context"
	"slices"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
)

// restartAtOnce is how many connected processes Restart marks as lost. FinishRestart marks
// the others while calls are answered, so that a takeover takes no longer the more there are.
const restartAtOnce = 2000

// Restart must be called when a node takes over the store, before traffic: the sockets
// of the previous node are gone, and their processes get a grace period to come back.
// Processes that were away already get one too, because they could not come back while
// there was no node. It returns how many processes get one, with those that FinishRestart
// takes care of.
func (s *Service) Restart(ctx context.Context) (processes int, err error) {
	return s.restart.Do(ctx, struct{}{})
}

func (s *Service) runRestart(tx *store.Tx, _ struct{}) (int, error) {
	n := 0
	var free, busy []*Process
	for _, p := range s.alive.Prefix(tx, "") {
		switch {
		case p.Connected && p.GameSessionID == "":
			free = append(free, p)
		case p.Connected:
			busy = append(busy, p)
		case p.ReconnectBy.Before(tx.Now().Add(s.opts.RestartGrace)):
			s.markLost(tx, p, s.opts.RestartGrace)
			n++
		}
	}
	connected := append(free, busy...) // those without a game session could be given one
	for _, p := range connected[:min(len(connected), restartAtOnce)] {
		s.markLost(tx, p, s.opts.RestartGrace)
	}
	s.hosting.Restarted(tx)
	return n + len(connected), nil
}

// FinishRestart marks the processes that Restart has left as lost, except those that have
// come back meanwhile. It returns when none is left, or ctx ends.
func (s *Service) FinishRestart(ctx context.Context) {
	for keys := range slices.Chunk(s.unlinked(), store.DueAtOnce) {
		for s.markUnlinked(ctx, keys) != nil {
			select { // the database is away
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
			}
		}
	}
}

func (s *Service) markUnlinked(ctx context.Context, keys []string) error {
	return s.st.Update(ctx, func(tx *store.Tx) error {
		for _, key := range keys {
			// A process has its link before the command that connects it runs.
			if p := s.Process(tx, key); p != nil && p.Connected && s.links.get(key) == nil {
				s.markLost(tx, p, s.opts.RestartGrace)
			}
		}
		return nil
	})
}

// unlinked returns the keys of the processes that count as connected and have no link here,
// first of those without a game session.
func (s *Service) unlinked() []string {
	var free, busy []string
	for p := range s.Processes(s.st.View(), "", "") {
		switch {
		case !p.Connected || s.links.get(p.Key) != nil:
		case p.GameSessionID == "":
			free = append(free, p.Key)
		default:
			busy = append(busy, p.Key)
		}
	}
	return append(free, busy...)
}

// Resync marks as lost every process that the store counts as connected but that has
// no link here. It is for use after a reload of the store.
func (s *Service) Resync(ctx context.Context) error {
	for p := range s.Processes(s.st.View(), "", "") {
		if p.Connected && s.links.get(p.Key) == nil {
			if err := s.Disconnect(ctx, p.Ref()); err != nil {
				return err
			}
		}
	}
	return nil
}

// Nudge makes Run check again whether the deletion of a fleet can continue. It is called
// when something that a deletion may wait for is gone.
func (s *Service) Nudge() { s.loop.Nudge() }

// Run ends what is overdue until ctx ends.
func (s *Service) Run(ctx context.Context) { s.loop.Run(ctx) }

// next returns when the loop has something to do: the earliest deadline, or now when
// the deletion of a fleet or location can make a step.
func (s *Service) next() time.Time {
	view := s.st.View()
	for f := range s.fleets.Leaving(view) {
		if s.canLeave(view, f) {
			return time.Now()
		}
	}
	return s.due.NextDue(view)
}

func (s *Service) runSweep(tx *store.Tx, _ struct{}) error {
	for p := range s.due.Due(tx, tx.Now()) {
		s.overdue(tx, p)
	}
	for f := range s.fleets.Leaving(tx) {
		s.leave(tx, f)
	}
	return nil
}

// canLeave reports whether leave would change something.
func (s *Service) canLeave(r store.Reader, f *fleet.Fleet) bool {
	for _, location := range leaving(f) {
		waiting, running := s.hosting.Left(r, f.ID, location)
		if running {
			return true
		}
		for p := range s.Processes(r, f.ID, location) {
			if p.Status != Terminating {
				return true
			}
			waiting = true
		}
		if !waiting {
			return true
		}
	}
	return false
}

// leave takes the deletion of a fleet, or of locations of it, one step further:
// processes are told to stop; when none is left the computes are deleted, and then
// the fleet or the location.
func (s *Service) leave(tx *store.Tx, f *fleet.Fleet) {
	for _, location := range leaving(f) {
		waiting := s.hosting.Clear(tx, f.ID, location)
		for p := range s.Processes(tx, f.ID, location) {
			waiting = true
			if p.Status != Terminating {
				s.stop(tx, p, stopArgs{why: event.FleetDeleting, grace: s.opts.StopGrace, text: "fleet or location is being deleted"})
			}
		}
		if waiting {
			continue
		}
		for c := range s.InFleet(tx, f.ID, location, "") {
			s.remove(tx, c)
		}
		if location == "" {
			s.fleets.Finish(tx, f.ID)
		} else {
			s.fleets.FinishLocation(tx, f.ID, location)
		}
	}
}

// leaving returns the locations of a fleet that are being deleted; "" is the whole fleet.
func leaving(f *fleet.Fleet) []string {
	if f.Status == fleet.Deleting {
		return []string{""}
	}
	var names []string
	for _, l := range f.Locations {
		if l.Status == fleet.Deleting {
			names = append(names, l.Location)
		}
	}
	return names
}
