//go:build linux && (386 || arm)

package isolate

import "golang.org/x/sys/unix"

// The system calls that change users and groups with numbers above 65,535.
const (
	setGroups = unix.SYS_SETGROUPS32
	setGroup  = unix.SYS_SETRESGID32
	setUser   = unix.SYS_SETRESUID32
)
