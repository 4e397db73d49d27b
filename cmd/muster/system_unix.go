//go:build unix

package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// hangups returns a channel that receives each SIGHUP from now on. The signal then ends
// nothing.
func hangups() <-chan os.Signal { return received(syscall.SIGHUP) }

// comparisons is like hangups for SIGUSR1.
func comparisons() <-chan os.Signal { return received(syscall.SIGUSR1) }

// replacements is like hangups for the signals at which an agent replaces itself: SIGHUP
// and SIGUSR2.
func replacements() <-chan os.Signal { return received(syscall.SIGHUP, syscall.SIGUSR2) }

func received(signals ...os.Signal) <-chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, signals...)
	return c
}

// replace executes this process's program as it is on disk now, with the same arguments:
// children stay children. The signals of replacements are ignored until the program asks for
// them, since they would end it.
func replace(environ []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("replace: %w", err)
	}
	signal.Ignore(syscall.SIGHUP, syscall.SIGUSR2)
	return fmt.Errorf("replace: %w", syscall.Exec(self, os.Args, environ))
}

// private makes files created from now on readable only by their owner. Commands that run
// game servers, or install builds for other users, do not call it.
func private() { syscall.Umask(0o077) }

// processor returns the processor time that the program has used.
func processor() time.Duration {
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
