package wrap

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Die ends this process by the signal that ended the program, so that who watches it sees the
// same, and leaves no core file of its own. It returns where that is not possible: the first
// process of a namespace is not ended by its own signals.
func (s *Signaled) Die() {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	var standard [64]byte // SIG_DFL: Go's own handler would print a stack trace
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s.Signal), uintptr(unsafe.Pointer(&standard)), 0, 8, 0, 0)
	runtime.LockOSThread()
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), s.Signal)
}

// setApart starts the program in a process group of its own: SIGTERM for the wrapper's does not
// reach it, so that it can be asked to end otherwise first. It ends with the wrapper.
func setApart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
