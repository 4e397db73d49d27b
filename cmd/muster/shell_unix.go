//go:build unix

package main

import (
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/musterhq/muster/hosts/protocol"
)

// passedOn returns the signals that are passed on to the program of a shell.
func passedOn() []os.Signal {
	return []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2}
}

// nameOf returns the name of a signal without SIG.
func nameOf(sig os.Signal) string {
	number, _ := sig.(syscall.Signal)
	return strings.TrimPrefix(unix.SignalName(number), "SIG")
}

// terminalSizes returns the sizes that a terminal takes from now on.
func terminalSizes(fd int) (sizes <-chan protocol.ShellSize, stop func()) {
	changed, to, over := received(syscall.SIGWINCH), make(chan protocol.ShellSize), make(chan struct{})
	go func() {
		for {
			select {
			case <-changed:
			case <-over:
				return
			}
			columns, rows, err := term.GetSize(fd)
			if err != nil {
				continue
			}
			select {
			case to <- protocol.ShellSize{Columns: uint16(columns), Rows: uint16(rows)}:
			case <-over:
				return
			}
		}
	}()
	return to, func() {
		signal.Reset(syscall.SIGWINCH)
		close(over)
	}
}
