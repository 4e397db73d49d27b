//go:build !linux

package ports

import "syscall"

// control changes nothing: only Linux lets a socket have an address in advance.
func control(_, _ string, _ syscall.RawConn) error { return nil }
