//go:build unix

package main

import "syscall"

// private has files that are made from now on be readable by their owner alone.
// Commands that run game servers, or install builds for other users, do not call it.
func private() { syscall.Umask(0o077) }
