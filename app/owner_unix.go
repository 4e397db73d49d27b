//go:build unix

package app

import (
	"io/fs"
	"os"
	"syscall"
)

// hasModes reports whether permission bits determine the access to a file.
const hasModes = true

// owned reports whether a file belongs to this process's user.
func owned(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
