//go:build unix

package main

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// onReplace calls f at the first SIGHUP or SIGUSR2, until stop.
func onReplace(f func()) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGUSR2)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
			f()
		case <-done:
		}
	}()
	var once sync.Once
	return func() {
		once.Do(func() {
			signal.Stop(signals)
			close(done)
		})
	}
}

// replace executes this process's program as it is on disk now, with the same arguments:
// children stay children.
func replace() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("replace: %w", err)
	}
	return fmt.Errorf("replace: %w", syscall.Exec(self, os.Args, os.Environ()))
}
