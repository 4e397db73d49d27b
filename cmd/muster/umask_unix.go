//go:build unix

package main

import "syscall"

// private makes files created from now on readable only by their owner. Commands that run
// game servers, or install builds for other users, do not call it.
func private() { syscall.Umask(0o077) }
