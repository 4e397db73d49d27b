package notify

import (
	"context"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// advance is a step of a sink: its new position, and the notices that it gave up.
type advance struct {
	Sink       string       `json:"sink"`
	Generation uint64       `json:"generation"` // of the cursor that it started from
	Seq        uint64       `json:"seq"`
	Dead       []DeadLetter `json:"dead,omitzero"`
}

type replay struct {
	Sink string `json:"sink"`
	From uint64 `json:"from"`
}

// runBegin creates the cursor of a new sink, after everything that has happened so far.
func (s *Service) runBegin(tx *store.Tx, sink string) error {
	if s.t.cursors.Get(tx, sink) == nil {
		s.t.cursors.Put(tx, &Cursor{Sink: sink, Seq: s.events.Last(tx), Changed: tx.Now()})
	}
	return nil
}

// runAdvance moves a cursor forward, unless it has been set in the meantime. What was
// given up is dead in either case.
func (s *Service) runAdvance(tx *store.Tx, a advance) error {
	for _, d := range a.Dead {
		d.Time = tx.Now()
		s.t.dead.Put(tx, &d)
	}
	if len(a.Dead) > 0 {
		s.trim(tx, a.Sink)
	}
	c := s.t.cursors.Get(tx, a.Sink)
	if c == nil || c.Generation != a.Generation || c.Seq >= a.Seq {
		return nil
	}
	next := *c
	next.Seq, next.Changed = a.Seq, tx.Now()
	s.t.cursors.Put(tx, &next)
	return nil
}

func (s *Service) runReplay(tx *store.Tx, r replay) error {
	c := s.t.cursors.Get(tx, r.Sink)
	if c == nil {
		return fault.Missing("sink %q has no cursor", r.Sink)
	}
	next := *c
	next.Seq = r.From - min(r.From, 1)
	next.Generation++
	next.Changed = tx.Now()
	s.t.cursors.Put(tx, &next)
	return nil
}

// ReplayFrom makes a sink deliver everything from a sequence number of the event log on
// again, in order, and then continue; 0 begins with the oldest event kept. A number past
// the log's end means the end. What is being delivered is cut off, and delivered again
// if it comes after the number. Errors: NotFound.
func (s *Service) ReplayFrom(ctx context.Context, sink string, seq uint64) error {
	k, err := s.sink(sink)
	if err != nil {
		return err
	}
	seq = min(seq, s.events.Last(s.st.View())+1)
	if err := s.cmd.replay.Do(ctx, replay{Sink: sink, From: seq}); err != nil {
		return err
	}
	k.interrupt()
	k.wakeup.Send()
	return nil
}
