package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropInput drops what was typed on a terminal and not yet read. At worst it stays.
func dropInput(terminal *os.File) {
	_ = unix.IoctlSetInt(int(terminal.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
