//go:build unix

package app

import (
	"io/fs"
	"log/slog"
	"os"
	"syscall"
)

// raiseFileLimit allows the process as many open sockets as the machine permits: each
// game server process has one.
func raiseFileLimit(log *slog.Logger) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur == limit.Max {
		return
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		log.Warn("file limit not raised", "error", err)
	}
}

// fileLimit returns how many files the process may open, or 0 if that is not known.
func fileLimit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int(min(limit.Max, 1<<30))
}

// hasModes reports whether permission bits determine the access to a file.
const hasModes = true

// owned reports whether a file belongs to this process's user.
func owned(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
