package sqlite

import (
	"os"

	"golang.org/x/sys/windows"
)

// farOffset keeps the locked byte clear of the text, which others must be able to
// read.
const farOffset = 1 << 30

// lock locks a file for this process, or fails if another has locked it.
func lock(file *os.File) error {
	where := &windows.Overlapped{Offset: farOffset}
	flags := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY)
	return windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, where)
}
