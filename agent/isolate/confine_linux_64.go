//go:build linux && !386 && !arm

package isolate

import "golang.org/x/sys/unix"

// The system calls that change users and groups with numbers above 65,535.
const (
	setGroups = unix.SYS_SETGROUPS
	setGroup  = unix.SYS_SETRESGID
	setUser   = unix.SYS_SETRESUID
)
