package flexmatch

import (
	"time"

	"github.com/musterhq/muster/internal/store"
)

// AcceptBy returns when the acceptance of a match ends, or zero if it does not wait for
// acceptance.
func (s *Service) AcceptBy(r store.Reader, matchID string) time.Time {
	if m := s.t.matches.Get(r, matchID); m != nil {
		return m.AcceptBy
	}
	return time.Time{}
}
