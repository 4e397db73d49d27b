//go:build unix

package supervise

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// separate puts a command's process into its own session and process group.
func separate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

func statusOf(wait syscall.WaitStatus) status {
	if wait.Signaled() {
		return status{known: true, code: -1, signal: unix.SignalName(wait.Signal())}
	}
	return status{known: true, code: wait.ExitStatus()}
}

// terminate sends SIGTERM to a run's process group.
func terminate(pid int) error { return signalGroup(pid, syscall.SIGTERM) }

// kill sends SIGKILL to a run's process group.
func kill(pid int) error { return signalGroup(pid, syscall.SIGKILL) }

// signalGroup sends a signal to a process group; it is not an error if the group is
// gone.
func signalGroup(pid int, signal syscall.Signal) error {
	if pid <= 1 {
		return fmt.Errorf("signal process group %d: not a run", pid)
	}
	if err := syscall.Kill(-pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal process group %d: %w", pid, err)
	}
	return nil
}
