package supervise

import (
	"fmt"
	"os"
	"os/exec"
)

func separate(*exec.Cmd) {}

func statusOfState(state *os.ProcessState) status {
	return status{known: true, code: state.ExitCode()}
}

// terminate kills the process: there is no signal that requests its end.
func terminate(pid int) error { return kill(pid) }

func kill(pid int) error {
	process, err := os.FindProcess(pid)
	if err != nil {
		return nil // it has ended
	}
	defer process.Release()
	if err := process.Kill(); err != nil {
		return fmt.Errorf("kill process %d: %w", pid, err)
	}
	return nil
}
