//go:build unix

package engine

import (
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalName returns the name of a signal of this system.
func signalName(number int) string {
	if name := unix.SignalName(syscall.Signal(number)); name != "" {
		return name
	}
	return "signal " + strconv.Itoa(number)
}
