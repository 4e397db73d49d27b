package wrap

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// listens reports whether a program listens on a port of this machine, by TCP or UDP. known
// is false if that cannot be seen.
func listens(port int) (open, known bool) {
	local := fmt.Sprintf(":%04X", port)
	for _, table := range []struct{ path, state string }{
		{"/proc/net/tcp", "0A"}, {"/proc/net/tcp6", "0A"}, {"/proc/net/udp", ""}, {"/proc/net/udp6", ""},
	} {
		file, err := os.Open(table.path)
		if err != nil {
			continue // IPv6 may be off
		}
		known = true
		for lines := bufio.NewScanner(file); lines.Scan(); {
			words := strings.Fields(lines.Text())
			if len(words) > 3 && strings.HasSuffix(words[1], local) && (table.state == "" || words[3] == table.state) {
				open = true
			}
		}
		file.Close()
	}
	return open, known
}
