package flexmatch

import (
	"sync"
	"time"
)

// An estimate is the mean wait of the tickets matched lately (choice: AWS says
// only that it is based on recent waits).
const (
	estimateOf   = 100              // tickets at most
	estimateFrom = 10               // tickets at least
	estimateAge  = 15 * time.Minute // of the match
)

// waits are how long matched tickets have waited, by configuration. They are a
// memory of this node's; a restart begins anew.
type waits struct {
	mu sync.Mutex
	m  map[string][]waited
}

type waited struct {
	at   time.Time
	took time.Duration
}

// matched takes up the waits of a match's tickets.
func (w *waits) matched(m *Match, tickets []*Ticket) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.m == nil {
		w.m = map[string][]waited{}
	}
	list := w.m[m.Configuration]
	for _, t := range tickets {
		if !t.Backfill {
			list = append(list, waited{m.Created, m.Created.Sub(t.Started)})
		}
	}
	if n := len(list) - estimateOf; n > 0 {
		list = append(list[:0], list[n:]...)
	}
	w.m[m.Configuration] = list
}

// estimate gives the expected wait in whole seconds, at least 1; 0 where too
// little is known.
func (w *waits) estimate(configuration string, now time.Time) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	var sum time.Duration
	n := 0
	for _, x := range w.m[configuration] {
		if now.Sub(x.at) <= estimateAge {
			sum += x.took
			n++
		}
	}
	if n < estimateFrom {
		return 0
	}
	return max(1, int((sum/time.Duration(n)).Round(time.Second)/time.Second))
}

// EstimatedWait gives EstimatedWaitTime in seconds for a configuration's
// tickets; 0 where too little is known.
func (s *Service) EstimatedWait(configuration string) int {
	return s.waits.estimate(configuration, time.Now())
}
