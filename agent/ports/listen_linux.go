package ports

import "syscall"

// control lets a socket have an address that this machine may get later.
func control(_, _ string, socket syscall.RawConn) error {
	var failed error
	if err := socket.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, syscall.IP_FREEBIND, 1)
	}); err != nil {
		return err
	}
	return failed
}
