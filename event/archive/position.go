package archive

import (
	"cmp"
	"fmt"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// Position says how much of the event log the archive has.
type Position struct {
	ID   string `json:"id"`            // always positionID
	Seq  uint64 `json:"seq"`           // everything up to this number is in the archive, or lost
	Cut  uint64 `json:"cut,omitzero"`  // last number of the object that is being written; 0: none is
	Lost uint64 `json:"lost,omitzero"` // events that were removed before the archive had them
}

const positionID = "archive"

type commands struct {
	cut  *store.Action[cut]
	move *store.Action[uint64]
	skip *store.Action[cut]
}

// cut is a range of the log. It applies only if the position is still From.
type cut struct {
	From   uint64 `json:"from"`
	First  uint64 `json:"first,omitzero"` // of the events after From that are there
	To     uint64 `json:"to"`
	Events uint64 `json:"events,omitzero"` // how many are lost
}

func (s *Service) register(st *store.Store) {
	s.positions = store.NewTable(st, store.TableSpec[Position]{Name: "event_archive", Key: func(p *Position) string { return p.ID }})
	s.cmd = commands{
		cut:  store.NewAction(st, "event.archive.cut", s.runCut),
		move: store.NewAction(st, "event.archive.move", s.runMove),
		skip: store.NewAction(st, "event.archive.skip", s.runSkip),
	}
}

// position returns the archive's position, which is 0 before the first cut.
func (s *Service) position(r store.Reader) Position {
	return *cmp.Or(s.positions.Get(r, positionID), &Position{ID: positionID})
}

// runCut begins an object. Numbers before its first event were never given to an event.
func (s *Service) runCut(tx *store.Tx, c cut) error {
	p := s.position(tx)
	if p.Seq == c.From && p.Cut == 0 {
		p.Seq, p.Cut = c.First-1, c.To
		s.positions.Put(tx, &p)
	}
	return nil
}

// runMove moves the position to the end of the object that was written.
func (s *Service) runMove(tx *store.Tx, to uint64) error {
	p := s.position(tx)
	if p.Cut == to && to != 0 {
		p.Seq, p.Cut = to, 0
		s.positions.Put(tx, &p)
	}
	return nil
}

// runSkip moves the position over events that are lost.
func (s *Service) runSkip(tx *store.Tx, c cut) error {
	p := s.position(tx)
	if p.Seq != c.From {
		return nil
	}
	p.Seq, p.Lost = c.To, p.Lost+c.Events
	if p.Cut <= p.Seq {
		p.Cut = 0
	}
	s.positions.Put(tx, &p)
	s.events.Append(tx, event.Event{
		Code:    event.EventsNotArchived,
		Message: fmt.Sprintf("%d events, with the numbers %d to %d, were removed before the archive had them: it could not be written for twice the retention of events, or was turned off", c.Events, c.From+1, c.To),
	})
	return nil
}
