package app

import "io/fs"

// hasModes reports whether permission bits determine the access to a file; on Windows the
// access list of the parent folder does.
const hasModes = false

// owned is for systems with permission bits.
func owned(fs.FileInfo) bool { return true }
