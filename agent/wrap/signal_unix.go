//go:build unix

package wrap

import (
	"fmt"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Signaled is the error of a program that a signal ended.
type Signaled struct{ Signal syscall.Signal }

func (s *Signaled) Error() string { return fmt.Sprintf("the program was ended by signal %s", s.Name()) }

// Name returns the signal's name, such as SIGSEGV.
func (s *Signaled) Name() string { return unix.SignalName(s.Signal) }

// signaled returns the signal that ended a program, or nil.
func signaled(exit *exec.ExitError) *Signaled {
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return &Signaled{status.Signal()}
	}
	return nil
}
