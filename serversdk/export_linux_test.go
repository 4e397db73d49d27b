package serversdk

// Parked returns how many connections have no goroutine.
func (s *Server) Parked() int {
	s.poller.mu.Lock()
	defer s.poller.mu.Unlock()
	return len(s.poller.parked)
}
