//go:build unix

package engine

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ownLimits returns the limits of this process, for containers of Podman. By itself Podman
// sets fixed ones, which fails where it may not raise its own; it lowers those to the
// kernel's number of processes.
func ownLimits() []ulimit {
	most := map[string]int64{"nofile": 1 << 20, "nproc": 1 << 20}
	if content, err := os.ReadFile("/proc/sys/kernel/pid_max"); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64); err == nil {
			most["nproc"] = min(most["nproc"], n)
		}
	}
	var all []ulimit
	for name, resource := range map[string]int{"nofile": unix.RLIMIT_NOFILE, "nproc": unix.RLIMIT_NPROC} {
		var limit unix.Rlimit
		if unix.Getrlimit(resource, &limit) == nil {
			all = append(all, ulimit{name, int64(min(uint64(limit.Max), uint64(most[name])))})
		}
	}
	return all
}
