//go:build !windows

package archive

import "syscall"

var errNotFolder error = syscall.ENOTDIR
