package store

// recorder writes committed commands to a file; a nil one records nothing.
type recorder struct{}

func (s *Store) startRecording(*Snapshot) (*recorder, error) { return nil, nil }

func (r *recorder) write(*group)     {}
func (r *recorder) interrupt(string) {}
func (r *recorder) close() error     { return nil }
