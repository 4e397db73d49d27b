//go:build unix

package sqlite

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock locks a file for this process, or fails if another has locked it.
func lock(file *os.File) error { return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
