package ports

import (
	"net"
	"os"
	"slices"
	"strings"
	"testing"
)

// A process that may use the ports of root uses them, each once.
func TestListenReserved(t *testing.T) {
	t.Parallel()
	probe, err := net.Listen("tcp4", "127.0.0.1:1022")
	mayListen := err == nil || !os.IsPermission(err)
	if err == nil {
		probe.Close()
	}
	var taken []int
	for range 20 {
		l, err := ListenReserved("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		port := l.Addr().(*net.TCPAddr).Port
		if mayListen != (port >= reservedFrom && port <= reservedTo) || slices.Contains(wellKnown, port) || slices.Contains(taken, port) {
			t.Errorf("it listens at %d after %v", port, taken)
		}
		taken = append(taken, port)
		if !strings.HasPrefix(l.Addr().String(), "127.0.0.1:") {
			t.Errorf("it listens at %s", l.Addr())
		}
	}
}
