//go:build !unix

package backend

import "syscall"

// writePing writes nothing on systems without Unix's sockets: a goroutine writes each ping.
func writePing(syscall.RawConn) (bool, error) { return false, nil }
