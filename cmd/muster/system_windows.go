package main

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// hangups, comparisons and replacements return nil: Windows has no such signals.
func hangups() <-chan os.Signal      { return nil }
func comparisons() <-chan os.Signal  { return nil }
func replacements() <-chan os.Signal { return nil }

func replace([]string) error {
	return errors.New("replace: Windows cannot; stop the agent and start it again")
}

// private has nothing to do: Windows has no umask.
func private() {}

// processor returns the processor time that the program has used.
func processor() time.Duration {
	self, err := syscall.GetCurrentProcess()
	var created, exited, kernel, user syscall.Filetime
	if err != nil || syscall.GetProcessTimes(self, &created, &exited, &kernel, &user) != nil {
		return 0
	}
	span := func(t syscall.Filetime) time.Duration { // in units of 100 ns
		return 100 * time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime))
	}
	return span(kernel) + span(user)
}
