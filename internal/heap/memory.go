package heap

import (
	"bytes"
	"os"
	"strconv"
)

// headroom returns by how much a heap may grow on a machine with that much memory.
func headroom(memory uint64) uint64 { return min(max(memory/16, 32<<20), 256<<20) }

// memory returns the memory that this process may use, in bytes: that of its container or
// of its machine, or 1 GiB if neither is known.
func memory() uint64 {
	least := uint64(0)
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/proc/meminfo"} {
		text, _ := os.ReadFile(file)
		if n := amount(text); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	if least == 0 {
		return 1 << 30
	}
	return least
}

// amount returns the bytes of a limit, or of the first line of /proc/meminfo; 0 if there
// is no limit.
func amount(text []byte) uint64 {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	line, inKiB := bytes.CutPrefix(line, []byte("MemTotal:"))
	n, _ := strconv.ParseUint(string(bytes.TrimSpace(bytes.TrimSuffix(line, []byte("kB")))), 10, 63)
	if inKiB {
		n <<= 10
	}
	return n
}
