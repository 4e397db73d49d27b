//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// hangups returns a channel that receives each SIGHUP from now on. The signal then ends
// nothing.
func hangups() <-chan os.Signal {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	return signals
}
