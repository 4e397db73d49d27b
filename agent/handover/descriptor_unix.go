//go:build unix

package handover

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// passable is a socket that has a file descriptor.
type passable = syscall.Conn

// duplicate returns another file descriptor of a socket, which programs do not inherit.
func duplicate(p passable) (fd int, err error) {
	raw, err := p.SyscallConn()
	if err != nil {
		return 0, err
	}
	if control := raw.Control(func(own uintptr) { fd, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) }); control != nil {
		return 0, control
	}
	return fd, err
}

// inherit lets the program that replaces this one have a file descriptor.
func inherit(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0)
	return err
}
