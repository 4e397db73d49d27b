package cell

import (
	"sync"
	"time"
)

// outage is a period in which an owner accepts no requests: it cannot be reached, or
// does not serve yet. Every lookAgain one request tries; the others wait.
type outage struct {
	epoch uint64
	over  chan struct{} // closed when the owner answers
	turn  chan struct{} // has a value while a request may try
}

// next lets one more request try, after a while.
func (o *outage) next() {
	time.AfterFunc(lookAgain, func() {
		select {
		case o.turn <- struct{}{}:
		default:
		}
	})
}

// outages records whether the owner of an epoch accepts requests.
type outages struct {
	mu  sync.Mutex
	now *outage // the latest one; nil once it is over
}

// of returns the outage of an owner, or nil while it accepts requests.
func (s *outages) of(epoch uint64) *outage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil || s.now.epoch != epoch {
		return nil
	}
	return s.now
}

// begin records that an owner did not accept a request, and returns its outage. A
// late report about an earlier owner changes nothing.
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

// end records that an owner answered.
func (s *outages) end(epoch uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil || s.now.epoch != epoch {
		return
	}
	close(s.now.over)
	s.now = nil
}
