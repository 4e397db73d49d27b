//go:build unix

package backend

import (
	"io"
	"syscall"
)

var pingFrame = []byte{0x89, 0} // final, without data (RFC 6455, 5.2)

// writePing writes a ping frame to a socket if that has room, and reports whether it had.
// After an error nothing more can be written. Deadlines of the connection do not matter,
// since nothing waits.
func writePing(raw syscall.RawConn) (written bool, err error) {
	n := 0
	closed := raw.Control(func(fd uintptr) { n, err = syscall.Write(int(fd), pingFrame) })
	switch {
	case closed != nil:
		return false, closed
	case err == syscall.EAGAIN || err == syscall.EINTR:
		return false, nil
	case err == nil && n < len(pingFrame):
		return false, io.ErrShortWrite
	}
	return err == nil, err
}
