package placement

import (
	"context"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

const (
	afterError = time.Second // how long the loop waits after a failed write
	tick       = time.Second // how often the loop looks while a placement waits, for changes without a notification, such as an alias routed elsewhere
	misses     = 3           // consecutive plans without any success before the loop waits
)

// Run places waiting placements, at remotes too, and ends overdue ones until ctx is done. It looks when a
// placement starts or changes, a process becomes free, a latency cap changes or a
// deadline passes, and every second while a placement waits.
func (s *Service) Run(ctx context.Context) {
	w := &worker{s: s}
	var beside sync.WaitGroup
	beside.Go(func() { s.away.Run(ctx) })
	beside.Go(func() { s.away.survey(ctx) })
	wake.Run(ctx, s.nudge, w.look)
	beside.Wait()
}

// worker is the loop's state. None of it has to survive a restart.
type worker struct {
	s       *Service
	turn    int // game sessions created so far; selects the queue that comes first
	held    held
	retried uint64 // the count of retried placements that held reflects
}

// look calls work and returns when to look again.
func (w *worker) look(ctx context.Context) time.Time {
	next, err := w.work(ctx)
	if err != nil {
		w.held = nil
		return time.Now().Add(afterError)
	}
	return next
}

// work does what can be done now and returns when to look again.
func (w *worker) work(ctx context.Context) (next time.Time, err error) {
	for missed := 0; missed < misses; {
		now := time.Now()
		if w.s.t.due.AnyDue(w.s.st.View(), now) {
			if err := w.s.cmd.sweep.Do(ctx, boardArgs{w.s.away.known(w.s.st.View())}); err != nil {
				return next, err
			}
			continue
		}
		view := w.view()
		proposed, made, err := w.place(ctx, view, now)
		switch {
		case err != nil:
			return next, err
		case proposed > 0 && made == 0: // the free processes were taken in between
			missed++
		case proposed > 0:
			missed = 0
		case !w.s.t.unexplained.AnyDue(view, now): // of those in the plan's view: later ones may still be placed
			return w.s.nextLook(now), nil
		default:
			if err := w.s.cmd.explain.Do(ctx, boardArgs{w.s.away.known(view)}); err != nil {
				return next, err
			}
		}
	}
	return w.s.nextLook(time.Now()), nil
}

// view returns the committed state, and drops the held lines if a placement has returned
// to waiting. It reads the counter first, so that the state includes everything counted.
func (w *worker) view() *store.Snapshot {
	if retried := w.s.retried.Load(); retried != w.retried {
		w.retried, w.held = retried, nil
	}
	return w.s.st.View()
}

// place makes a plan and executes it.
func (w *worker) place(ctx context.Context, view *store.Snapshot, now time.Time) (proposed, made int, err error) {
	p := plan(&w.s.t, view, w.s, w.s.away.known(view), now, w.turn, w.held)
	w.held = p.Held
	if len(p.Proposals) == 0 {
		return 0, 0, nil
	}
	made, err = w.s.cmd.place.Do(ctx, p.Proposals)
	w.turn += made
	if made < len(p.Proposals) {
		w.held = nil
	}
	return len(p.Proposals), made, err
}

// nextLook returns when to look again without a nudge.
func (s *Service) nextLook(now time.Time) time.Time {
	view := s.st.View()
	at := wake.Earliest(s.t.due.NextDue(view), s.t.unexplained.NextDue(view))
	if s.t.waiting.FirstPrefix(view, "") != nil {
		at = wake.Earliest(at, now.Add(tick))
	}
	return at
}

func (s *Service) runSweep(tx *store.Tx, a boardArgs) error {
	rounds := s.newRoundsAt(tx, tx.Now(), a.Away)
	for p := range s.t.due.Due(tx, tx.Now()) {
		if p.Over() {
			s.t.placements.Archive(tx, p.ID)
			s.t.requests.Archive(tx, p.ID)
			continue
		}
		s.timeOut(tx, p, rounds)
	}
	return nil
}

// timeOut times out a placement. If it waited for a place, a last round is recorded.
func (s *Service) timeOut(tx *store.Tx, p *Placement, rounds *roundsAt) {
	if p.Trying() {
		s.finish(tx, p, TimedOut, "the queue's timeout passed while game session "+p.GameSessionID+" was being activated")
		return
	}
	if p.Away() {
		s.finish(tx, p, TimedOut, "the queue's timeout passed while a game session was being created at a remote or in another region")
		return
	}
	last := *p
	if q := s.t.queues.Get(tx, p.Queue); q != nil {
		round, _ := rounds.of(q, p, s.t.requests.Get(tx, p.ID))
		last.keep(round)
	}
	s.finish(tx, &last, TimedOut, "no place was found within the queue's timeout")
}
