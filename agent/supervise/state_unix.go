//go:build unix && !linux

package supervise

import (
	"os"
	"syscall"
)

func statusOfState(state *os.ProcessState) status {
	return statusOf(state.Sys().(syscall.WaitStatus))
}
