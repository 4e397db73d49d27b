//go:build !linux

package node

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// Ports that systems give to nobody who does not ask for them, and that nothing else here uses.
const firstPort, ports = 10000, 9000

var given sync.Map // ports that Reserve has returned

// Reserve returns an address of this machine that nobody listens on, for a server that is to
// have it again after a restart, or whose address others must know before it starts.
func Reserve(t testing.TB) string {
	t.Helper()
	for range 1000 {
		port := firstPort + rand.IntN(ports)
		if _, twice := given.LoadOrStore(port, true); twice {
			continue
		}
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}
