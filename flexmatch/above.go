package flexmatch

import (
	"time"

	"github.com/musterhq/muster/internal/store"
)

// What packages above use inside their own transactions.

// OnChanged registers f to be called in each transaction that creates or changes a ticket,
// once its row is written. It must be called before the store is opened.
func (s *Service) OnChanged(f func(*store.Tx, *Ticket)) { s.changed = append(s.changed, f) }

// StartNow is like Start inside a transaction of a package above. The id must be new.
func (s *Service) StartNow(tx *store.Tx, in StartInput) (*Ticket, error) {
	return s.runStart(tx, startArgs{in})
}

// StopNow is like Stop inside a transaction of a package above, without the rule counts of
// the search around the ticket.
func (s *Service) StopNow(tx *store.Tx, id string) error {
	_, err := s.runStop(tx, stopArgs{ID: id})
	return err
}

// AcceptBy returns when the acceptance of a match ends, or zero if it does not wait for
// acceptance.
func (s *Service) AcceptBy(r store.Reader, matchID string) time.Time {
	if m := s.t.matches.Get(r, matchID); m != nil {
		return m.AcceptBy
	}
	return time.Time{}
}
