package wrap

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// tables are the sockets of a network namespace. Those of a state wait for others: TCP's LISTEN,
// and UDP's without a peer.
var tables = []struct{ file, state string }{{"tcp", "0A"}, {"tcp6", "0A"}, {"udp", "07"}, {"udp6", "07"}}

// listens reports whether a program listens on a port, by TCP or UDP, in the network namespace of
// a process. known is false if that cannot be seen.
func listens(pid string, port int) (open, known bool) {
	local := fmt.Sprintf(":%04X", port)
	for _, table := range tables {
		file, err := os.Open(filepath.Join("/proc", pid, "net", table.file))
		if err != nil {
			continue // IPv6 may be off
		}
		known = true
		for lines := bufio.NewScanner(file); !open && lines.Scan(); {
			words := strings.Fields(lines.Text())
			open = len(words) > 3 && strings.HasSuffix(words[1], local) && words[3] == table.state
		}
		file.Close()
		if open {
			return true, true
		}
	}
	return false, known
}
