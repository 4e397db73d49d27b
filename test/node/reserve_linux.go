package node

import (
	"fmt"
	"syscall"
	"testing"
)

// Reserve returns an address of this machine that is nobody else's until the test ends, for a
// server that is to have it again after a restart, or whose address others must know before it
// starts.
//
// A socket that never listens holds the port. While it does, Linux gives the port to nobody who
// asks for any port, yet lets another socket listen there if both have SO_REUSEADDR, which Go
// and nearly all servers set.
func Reserve(t testing.TB) string {
	t.Helper()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatalf("socket: %v", err)
	}
	t.Cleanup(func() { syscall.Close(socket) })
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		t.Fatalf("SO_REUSEADDR: %v", err)
	}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatalf("bind: %v", err)
	}
	name, err := syscall.Getsockname(socket)
	if err != nil {
		t.Fatalf("getsockname: %v", err)
	}
	return fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
}
