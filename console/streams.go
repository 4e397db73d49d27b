package console

import (
	"sync"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/limit"
)

const defaultStreams = 128

// streamWait is how long a caller should wait before it retries if too many streams are
// open.
const streamWait = 5 * time.Second

// streams counts the open event streams.
type streams struct {
	most, each, reserve int // limits: in total, per key, and how many of all are reserved for administrators and operators

	mu  sync.Mutex
	all int
	of  map[string]int // by access key id
}

func newStreams(most int) *streams {
	if most == 0 {
		most = defaultStreams
	}
	return &streams{most: most, each: max(1, most/4), reserve: most / 4, of: map[string]int{}}
}

// enter counts a stream that begins, or returns a fault if there are too many. Errors:
// Throttling.
func (s *streams) enter(caller auth.Caller) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := s.most
	if caller.Role != auth.Admin && caller.Role != auth.Operator {
		most -= s.reserve
	}
	switch {
	case s.all >= most && most < s.most:
		return limit.Refuse(streamWait, "%d event streams are open, and the %d that are left are for keys of the roles admin and operator; close some, or raise --max-streams", s.all, s.most-s.all)
	case s.all >= most:
		return limit.Refuse(streamWait, "%d event streams are open, which is the limit; close some, or raise --max-streams", s.all)
	case !caller.Local && s.of[caller.KeyID] >= s.each:
		return limit.Refuse(streamWait, "%s has %d event streams open, which is the limit for one key; close some, use another key, or raise --max-streams", caller.Who(), s.each)
	}
	s.all++
	s.of[caller.KeyID]++
	return nil
}

// leave counts a stream that has ended.
func (s *streams) leave(caller auth.Caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.of[caller.KeyID]--; s.of[caller.KeyID] == 0 {
		delete(s.of, caller.KeyID)
	}
}
