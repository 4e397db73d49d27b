package enginetest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// ownGroup keeps signals of a terminal from the engine.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

func unmount(point string) { _ = syscall.Unmount(point, syscall.MNT_DETACH) }

// inOwnNetwork runs this program again, in a new network namespace, and returns its exit code.
// It returns false if this machine makes none.
func inOwnNetwork(out, errs io.Writer, args ...string) (code int, ok bool) {
	if _, err := exec.LookPath("ip"); err != nil || os.Getuid() != 0 {
		return 0, false
	}
	runtime.LockOSThread() // the child ends with the thread that starts it
	defer runtime.UnlockOSThread()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), ownNetworkVariable+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, out, errs
	cmd.WaitDelay = 10 * time.Second // for what is left running, which is an error
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return 0, false
	}
	err := cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	if code = cmd.ProcessState.ExitCode(); code < 0 { // by a signal
		code = 2
	}
	return code, true
}

// openNetwork makes the addresses of this machine usable.
func openNetwork() error {
	for _, args := range [][]string{{"link", "set", "lo", "up"}, {"addr", "add", Address + "/32", "dev", "lo"}} {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %v: %w: %s", args, err, out)
		}
	}
	return nil
}
