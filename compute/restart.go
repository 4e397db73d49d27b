package compute

import (
	"context"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// restartAtOnce is how many processes Restart marks as lost. Run marks the others while calls
// are answered, so that a takeover takes no longer the more there are.
const restartAtOnce = 2000

// Restart must be called when a node takes over the store, before traffic and before Run:
// the sockets of the previous node are gone, and their processes get a grace period to come back.
// Processes that were away already get one too, because they could not come back while
// there was no node. It returns how many processes get one, with those that Run takes care of.
func (s *Service) Restart(ctx context.Context) (processes int, err error) {
	r, err := s.restart.Do(ctx, struct{}{})
	s.unmarked.Store(&r.left)
	return r.marked + len(r.left), err
}

// restarted is the outcome of a restart.
type restarted struct {
	marked int
	left   []*Process // that are still to be marked as lost
}

// runRestart marks first the processes that could be given a game session, then those that
// have one.
func (s *Service) runRestart(tx *store.Tx, _ struct{}) (restarted, error) {
	var free, busy, away []*Process
	for _, p := range s.alive.Prefix(tx, "") {
		switch {
		case p.Connected && p.GameSessionID == "":
			free = append(free, p)
		case p.Connected:
			busy = append(busy, p)
		case p.ReconnectBy.Before(tx.Now().Add(s.opts.RestartGrace)):
			away = append(away, p)
		}
	}
	all := slices.Concat(free, busy, away)
	n := min(len(all), restartAtOnce)
	for _, p := range all[:n] {
		s.markLost(tx, p, s.opts.RestartGrace)
	}
	s.hosting.Restarted(tx)
	return restarted{n, all[n:]}, nil
}

// finishRestart marks the processes that Restart has left as lost, except those that have come
// back since. It returns when none is left, or ctx ends.
func (s *Service) finishRestart(ctx context.Context) {
	all := s.unmarked.Swap(nil)
	if all == nil {
		return
	}
	for left := range slices.Chunk(*all, store.DueAtOnce) {
		for s.markLeft(ctx, left) != nil {
			select { // the database is away
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
			}
		}
	}
}

func (s *Service) markLeft(ctx context.Context, left []*Process) error {
	return s.st.Update(ctx, func(tx *store.Tx) error {
		for _, then := range left {
			p := s.Process(tx, then.Key)
			switch {
			case p == nil || p.Status == Terminated || p.Connected != then.Connected || !p.ReconnectBy.Equal(then.ReconnectBy):
			case p.Connected && s.links.get(p.Key) != nil: // a process has its link before the command that connects it runs
			default:
				s.markLost(tx, p, s.opts.RestartGrace)
			}
		}
		return nil
	})
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
