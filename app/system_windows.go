package app

import (
	"io/fs"
	"log/slog"
)

// raiseFileLimit has nothing to do: Windows has no such limit on sockets.
func raiseFileLimit(*slog.Logger) {}

// fileLimit returns 0: Windows has no such limit on sockets.
func fileLimit() int { return 0 }

// hasModes reports whether permission bits determine the access to a file; on Windows the
// access list of the parent folder does.
const hasModes = false

// owned is for systems with permission bits.
func owned(fs.FileInfo) bool { return true }
