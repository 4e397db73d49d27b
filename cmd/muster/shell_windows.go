package main

import (
	"os"
	"syscall"

	"github.com/musterhq/muster/hosts/protocol"
)

// passedOn returns the signals that are passed on to the program of a shell.
func passedOn() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// nameOf returns the name of a signal without SIG.
func nameOf(sig os.Signal) string {
	if sig == os.Interrupt {
		return "INT"
	}
	return "TERM"
}

// terminalSizes returns a channel without sizes: Windows does not signal them.
func terminalSizes(int) (sizes <-chan protocol.ShellSize, stop func()) { return nil, func() {} }
