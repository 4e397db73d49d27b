package wrap

import (
	"os/exec"
	"syscall"
)

// Signaled is the error of a program that a signal ended, which Windows does not have.
type Signaled struct{ Signal syscall.Signal }

func (s *Signaled) Error() string { return "the program was ended by a signal" }

// Name returns the signal's name.
func (s *Signaled) Name() string { return s.Signal.String() }

// Die returns: there is no signal.
func (s *Signaled) Die() {}

func signaled(*exec.ExitError) *Signaled { return nil }
