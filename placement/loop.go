package placement

import (
	"context"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

const (
	sweepAtOnce = 500         // how many overdue placements one transaction ends
	afterError  = time.Second // how long the loop waits when a write failed
	tick        = time.Second // how often it looks while something waits, for what tells no one: an alias led elsewhere, say
	misses      = 3           // plans in a row of which nothing came, before the loop waits
)

// Run places what waits and ends what is overdue, until ctx ends. It looks when
// a placement starts or changes, a process becomes free, a latency cap changes,
// a deadline passes, and each second while something waits.
func (s *Service) Run(ctx context.Context) {
	w := &worker{s: s}
	wake.Run(ctx, s.nudge, w.look)
}

// worker is the loop's memory; all of it may be lost.
type worker struct {
	s       *Service
	turn    int // game sessions proposed so far: which queue comes first
	held    held
	retried uint64 // of what the held lines know
}

// look works, and tells when to do so again.
func (w *worker) look(ctx context.Context) time.Time {
	next, err := w.work(ctx)
	if err != nil {
		w.held = nil
		return time.Now().Add(afterError)
	}
	return next
}

// work does what can be done now and tells when to look again.
func (w *worker) work(ctx context.Context) (next time.Time, err error) {
	for missed := 0; missed < misses; {
		now := time.Now()
		if due := w.s.nextDue(); !due.IsZero() && !due.After(now) {
			if _, err := w.s.cmd.sweep.Do(ctx, struct{}{}); err != nil {
				return next, err
			}
			continue
		}
		view := w.view()
		proposed, made, err := w.place(ctx, view, now)
		switch {
		case err != nil:
			return next, err
		case proposed > 0 && made == 0: // what was free has been taken meanwhile
			missed++
		case proposed > 0:
			missed = 0
		case !w.s.anyRound(view, now): // of what the plan has seen: what came since may well be placed
			return w.s.nextLook(now), nil
		default:
			if _, err := w.s.cmd.explain.Do(ctx, struct{}{}); err != nil {
				return next, err
			}
		}
	}
	return w.s.nextLook(time.Now()), nil
}

// view gives the committed state, and drops what the worker knows of held lines
// where something came back into one. The counter is read first: whatever it has
// counted is in the state that is read after it.
func (w *worker) view() *store.Snapshot {
	if retried := w.s.retried.Load(); retried != w.retried {
		w.retried, w.held = retried, nil
	}
	return w.s.st.View()
}

// place makes a plan and carries it out.
func (w *worker) place(ctx context.Context, view *store.Snapshot, now time.Time) (proposed, made int, err error) {
	p := plan(&w.s.t, view, w.s, now, w.turn, w.held)
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

// nextDue is the earliest deadline of any placement, or zero.
func (s *Service) nextDue() time.Time {
	if p := s.t.due.FirstPrefix(s.st.View(), ""); p != nil {
		return p.due()
	}
	return time.Time{}
}

// anyRound tells whether a round is to be written of something that waits.
func (s *Service) anyRound(view *store.Snapshot, now time.Time) bool {
	p := s.t.unexplained.FirstPrefix(view, "")
	return p != nil && !p.RoundAt.After(now)
}

// nextLook is when there may be something to do though nobody nudges.
func (s *Service) nextLook(now time.Time) time.Time {
	view := s.st.View()
	at := s.nextDue()
	if p := s.t.unexplained.FirstPrefix(view, ""); p != nil {
		at = earliest(at, p.RoundAt)
	}
	if s.t.waiting.FirstPrefix(view, "") != nil {
		at = earliest(at, now.Add(tick))
	}
	return at
}

func (s *Service) runSweep(tx *store.Tx, _ struct{}) (struct{}, error) {
	rounds, n := s.newRoundsAt(tx, tx.Now()), 0
	for _, p := range s.t.due.Prefix(tx, "") {
		if p.due().After(tx.Now()) || n == sweepAtOnce {
			break
		}
		n++
		if p.Over() {
			s.t.placements.Archive(tx, p.ID)
			s.t.requests.Archive(tx, p.ID)
			continue
		}
		s.timeOut(tx, p, rounds)
	}
	return struct{}{}, nil
}

// timeOut ends a placement whose time is over, with a last round of one that waited.
func (s *Service) timeOut(tx *store.Tx, p *Placement, rounds *roundsAt) {
	if p.Trying() {
		s.finish(tx, p, TimedOut, "the queue's timeout passed while game session "+p.GameSessionID+" was being activated")
		return
	}
	last := *p
	if q := s.t.queues.Get(tx, p.Queue); q != nil {
		round, _ := rounds.of(q, p, s.t.requests.Get(tx, p.ID))
		last.keep(round)
	}
	s.finish(tx, &last, TimedOut, "no place was found within the queue's timeout")
}

// earliest gives the earlier of two moments, either of which may be zero.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
