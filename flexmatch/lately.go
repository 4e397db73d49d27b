package flexmatch

import (
	"sync"
	"time"

	"github.com/musterhq/muster/flexmatch/explain"
	"github.com/musterhq/muster/flexmatch/search/pool"
)

// lately is the effort of a matcher's passes in the last minutes. It is in this node's memory
// only and starts empty.
type lately struct {
	mu      sync.Mutex
	minutes [latelyMinutes]minute // by minute, modulo their number
}

const latelyMinutes = 5

type minute struct {
	at int64 // since 1970
	pool.Effort
}

func (l *lately) add(now time.Time, e pool.Effort) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := now.Unix() / 60
	m := &l.minutes[at%latelyMinutes]
	if m.at != at {
		*m = minute{at: at}
	}
	m.Effort = m.Plus(e)
}

// bounds returns what the bounds of searches and passes ended in the last minutes.
func (l *lately) bounds(now time.Time) []explain.Bound {
	l.mu.Lock()
	defer l.mu.Unlock()
	var sum pool.Effort
	for _, m := range l.minutes {
		if m.at > now.Unix()/60-latelyMinutes {
			sum = sum.Plus(m.Effort)
		}
	}
	return explain.Bounds(sum, latelyMinutes*time.Minute)
}
