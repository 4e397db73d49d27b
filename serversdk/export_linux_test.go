package serversdk

import "time"

// Parked returns how many connections have no goroutine.
func (s *Server) Parked() int {
	s.poller.mu.Lock()
	defer s.poller.mu.Unlock()
	return len(s.poller.parked)
}

// Parking sets whether connections may give up their goroutines. Without it, a parked one that
// is woken stays awake.
func (s *Server) Parking(allowed bool) {
	s.poller.mu.Lock()
	defer s.poller.mu.Unlock()
	s.poller.closed = !allowed
}

// Ping sends the pings that are due between two times.
func (s *Server) Ping(before, now time.Time) { s.ping(before, now) }
