package notify

import (
	"context"
	"time"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// again requests redelivery of dead letters of a sink; no numbers mean all.
type again struct {
	Sink string   `json:"sink"`
	Seqs []uint64 `json:"seqs,omitzero"`
}

type settled struct {
	Sink  string `json:"sink"`
	Seq   uint64 `json:"seq"`
	Error string `json:"error,omitzero"` // empty: delivered
}

// DeadLetters returns a sink's dead letters after a sequence number, oldest first.
// limit must be at least 1. Errors: NotFound.
func (s *Service) DeadLetters(sink string, after uint64, limit int) ([]*DeadLetter, error) {
	if _, err := s.sink(sink); err != nil {
		return nil, err
	}
	var page []*DeadLetter
	view := s.st.View()
	begin := time.Now().Add(-DeadLetterRetention)
	for _, d := range s.t.deadOf.PrefixAfter(view, sink, sink, deadKey(sink, after)) {
		if d.Sink != sink || len(page) == limit {
			break
		}
		if d.Time.After(begin) {
			page = append(page, d)
		}
	}
	return page, nil
}

// Redeliver makes a sink try dead letters again, once each, in addition to new notices;
// without numbers, all of them. Those that succeed are deleted, the others stay with
// their new error. It returns how many there are. Errors: NotFound.
func (s *Service) Redeliver(ctx context.Context, sink string, seqs ...uint64) (int, error) {
	k, err := s.sink(sink)
	if err != nil {
		return 0, err
	}
	n, err := s.cmd.again.Do(ctx, again{Sink: sink, Seqs: seqs})
	k.wakeup.Send()
	return n, err
}

func (s *Service) runAgain(tx *store.Tx, a again) (int, error) {
	var rows []*DeadLetter
	for _, seq := range a.Seqs {
		d := s.t.dead.Get(tx, deadKey(a.Sink, seq))
		if d == nil {
			return 0, fault.Missing("sink %q has no dead letter with the sequence number %d", a.Sink, seq)
		}
		rows = append(rows, d)
	}
	if len(a.Seqs) == 0 {
		for d := range s.t.deadOf.Equal(tx, a.Sink) {
			rows = append(rows, d)
		}
	}
	for _, d := range rows {
		next := *d
		next.Again = true
		s.t.dead.Put(tx, &next)
	}
	return len(rows), nil
}

func (s *Service) runSettled(tx *store.Tx, o settled) error {
	d := s.t.dead.Get(tx, deadKey(o.Sink, o.Seq))
	switch {
	case d == nil:
	case o.Error == "":
		s.t.dead.Delete(tx, deadKey(o.Sink, o.Seq))
	default:
		next := *d
		next.Again, next.Error, next.Time = false, o.Error, tx.Now()
		next.Attempts++
		s.t.dead.Put(tx, &next)
	}
	return nil
}

// trim keeps a sink's dead letters within MaxDeadLetters.
func (s *Service) trim(tx *store.Tx, sink string) {
	over := s.t.deadOf.Count(tx, sink) - MaxDeadLetters
	if over <= 0 {
		return
	}
	for d := range s.t.deadOf.Equal(tx, sink) {
		s.t.dead.Delete(tx, deadKey(sink, d.Seq))
		if over--; over == 0 {
			return
		}
	}
}

const expireAtOnce = 1000

// runExpire deletes dead letters past their retention, and returns how many.
func (s *Service) runExpire(tx *store.Tx, _ struct{}) (int, error) {
	n := 0
	end := tx.Now().Add(-DeadLetterRetention)
	for d := range s.t.dead.All(tx) {
		if n == expireAtOnce {
			break
		}
		if !d.Time.After(end) {
			s.t.dead.Delete(tx, deadKey(d.Sink, d.Seq))
			n++
		}
	}
	return n, nil
}
