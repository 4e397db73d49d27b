package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// dropInput drops what was typed on a terminal and not yet read. At worst it stays.
func dropInput(terminal *os.File) {
	_ = windows.FlushConsoleInputBuffer(windows.Handle(terminal.Fd()))
}
