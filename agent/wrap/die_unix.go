//go:build unix && !linux

package wrap

// Die returns: the exit code says which signal it was.
func (s *Signaled) Die() {}
