package heap

import (
	"io/fs"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// headroom returns by how much a heap may grow on a machine with that much memory.
func headroom(memory uint64) uint64 { return min(max(memory/16, 32<<20), memory/8, 256<<20) }

// memory returns the memory that this process may use, in bytes, by the files below root:
// that of its control groups or of its machine, but at most GOMEMLIMIT; 1 GiB if nothing
// is known.
func memory(root fs.FS) uint64 {
	least := uint64(debug.SetMemoryLimit(-1))
	known := false
	for _, file := range append(limits(root), "proc/meminfo") {
		text, _ := fs.ReadFile(root, file)
		if n := amount(string(text)); n > 0 {
			least, known = min(least, n), true
		}
	}
	if !known {
		return min(least, 1<<30)
	}
	return least
}

// limits returns the files that limit the memory of this process: those of its control
// group and of all groups above it, of version 2 or 1.
func limits(root fs.FS) (files []string) {
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(groups)) { // as "0::/a/b" or "5:cpu,memory:/a/b"
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		kinds, group, _ := strings.Cut(rest, ":")
		dir, file := "sys/fs/cgroup", "memory.max"
		if strings.Contains(kinds, "memory") {
			dir, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		} else if kinds != "" {
			continue
		}
		for at := path.Clean("/" + group); ; at = path.Dir(at) {
			files = append(files, path.Join(dir, at, file))
			if at == "/" {
				break
			}
		}
	}
	return files
}

// amount returns the bytes of a limit, or of the first line of /proc/meminfo; 0 if there
// is no limit.
func amount(text string) uint64 {
	line, _, _ := strings.Cut(text, "\n")
	line, inKiB := strings.CutPrefix(line, "MemTotal:")
	n, _ := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(line, "kB")), 10, 63)
	if inKiB {
		n <<= 10
	}
	return n
}
