package flexmatch

import (
	"sync"
	"time"
)

// An estimate is the mean wait of recently matched tickets (choice: AWS says only that it
// is based on recent waits).
const (
	estimateOf   = 100              // maximum number of tickets
	estimateFrom = 10               // minimum number of tickets
	estimateAge  = 15 * time.Minute // maximum age of the match
)

// waits records how long matched tickets waited, by configuration. It is in this node's
// memory only and starts empty.
type waits struct {
	mu sync.Mutex
	m  map[string][]waited
}

type waited struct {
	at   time.Time
	took time.Duration
}

func (w *waits) matched(m *Match, tickets []*Ticket) {
	w.mu.Lock()
	defer w.mu.Unlock()
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

// estimate returns the expected wait in whole seconds, at least 1, or 0 if too little is
// known.
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

// EstimatedWait returns EstimatedWaitTime in seconds for a configuration's tickets, or 0
// if too little is known.
func (s *Service) EstimatedWait(configuration string) int {
	return s.waits.estimate(configuration, time.Now())
}
