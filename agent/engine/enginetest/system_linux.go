package enginetest

import "syscall"

// ownGroup keeps signals of a terminal from the engine.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

func unmount(point string) { _ = syscall.Unmount(point, syscall.MNT_DETACH) }
