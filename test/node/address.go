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

var given sync.Map // ports that FreeAddress has returned

// FreeAddress returns an address of this machine that nobody listens on, for a server that is
// to have it again after a restart. A port of net.Listen with port 0 does not do: while the
// server is away, the system may give it to somebody else.
func FreeAddress(t testing.TB) string {
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
