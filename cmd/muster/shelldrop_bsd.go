//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropInput drops what was typed on a terminal and not yet read. At worst it stays.
func dropInput(terminal *os.File) {
	const input = 1 // FREAD
	_ = unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCFLUSH, input)
}
