package cell

import (
	"sync"
	"time"
)

// outage is a time in which an owner takes on no requests: it cannot be reached,
// or does not serve yet. One request each lookAgain tries; the others wait.
type outage struct {
	epoch uint64
	over  chan struct{} // closed when the owner answered
	turn  chan struct{} // has one while a request may try
}

// next has one more request try, after a while.
func (o *outage) next() {
	time.AfterFunc(lookAgain, func() {
		select {
		case o.turn <- struct{}{}:
		default:
		}
	})
}

// outages knows whether the owner of an epoch takes on requests.
type outages struct {
	mu  sync.Mutex
	now *outage // the last one; nil once it is over
}

// of gives the outage of an owner, nil while it takes on requests.
func (s *outages) of(epoch uint64) *outage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil || s.now.epoch != epoch {
		return nil
	}
	return s.now
}

// begin notes that an owner did not take a request on, and gives its outage. What
// is said late of an owner before changes nothing.
func (s *outages) begin(epoch uint64) *outage {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.now != nil && s.now.epoch > epoch:
		return nil
	case s.now == nil || s.now.epoch < epoch:
		s.now = &outage{epoch: epoch, over: make(chan struct{}), turn: make(chan struct{}, 1)}
		s.now.next()
	}
	return s.now
}

// end notes that an owner answered.
func (s *outages) end(epoch uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil || s.now.epoch != epoch {
		return
	}
	close(s.now.over)
	s.now = nil
}
