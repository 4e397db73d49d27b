package flexmatch

import (
	"time"

	"github.com/musterhq/muster/internal/store"
)

// AcceptBy gives when the acceptance of a match ends; zero where it does not wait
// for one.
func (s *Service) AcceptBy(r store.Reader, matchID string) time.Time {
	if m := s.t.matches.Get(r, matchID); m != nil {
		return m.AcceptBy
	}
	return time.Time{}
}
