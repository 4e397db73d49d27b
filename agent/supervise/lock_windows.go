package supervise

import (
	"os"

	"golang.org/x/sys/windows"
)

func tryLock(file *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, &windows.Overlapped{})
}

// unlock does nothing: closing the file releases the lock.
func unlock(*os.File) error { return nil }
