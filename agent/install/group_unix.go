//go:build unix

package install

import (
	"os/exec"
	"syscall"
)

// killGroup makes the end of a command's context kill everything the command started.
func killGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
