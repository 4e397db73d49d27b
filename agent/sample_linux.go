package agent

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/hosts/protocol"
)

// tick is the unit of times in /proc; Linux reports 100 per second on every machine.
const tick = 10 * time.Millisecond

// sample reads the usage of the machine and of every process on it.
func (s *sampler) sample() {
	cpu, memory := map[int]time.Duration{}, map[int]int{}
	for _, pid := range processes() {
		text, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			continue
		}
		session, used, resident, ok := parseStat(text)
		if ok {
			cpu[session] += used
			memory[session] += resident
		}
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	period := now.Sub(s.last)
	usages, series := make(map[int]protocol.Usage, len(cpu)), make(map[int][]protocol.UsageAt, len(cpu))
	for session, used := range cpu {
		u := protocol.Usage{MemoryMiB: memory[session] * os.Getpagesize() >> 20}
		if before, ok := s.cpu[session]; ok && !s.last.IsZero() && period > 0 {
			u.CPUMillis = int(max(used-before, 0) * 1000 / period)
			series[session] = addUsage(s.before[session], now, u)
		}
		usages[session] = u
	}
	s.cpu, s.usages, s.before, s.last = cpu, usages, series, now
	s.sampleMachine(period)
}

// processes returns the names of the folders in /proc that are processes. A pattern for
// their files would list each of the folders, too.
func processes() []string {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	return slices.DeleteFunc(names, func(name string) bool { return name[0] < '0' || name[0] > '9' })
}

// parseStat parses a process's session, the CPU time it has used and its resident
// pages.
func parseStat(text []byte) (session int, used time.Duration, resident int, ok bool) {
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const sessionAt, userAt, systemAt, residentAt = 6 - 3, 14 - 3, 15 - 3, 24 - 3
	if len(fields) <= residentAt {
		return 0, 0, 0, false
	}
	session, err1 := strconv.Atoi(fields[sessionAt])
	user, err2 := strconv.ParseInt(fields[userAt], 10, 64)
	system, err3 := strconv.ParseInt(fields[systemAt], 10, 64)
	resident, err4 := strconv.Atoi(fields[residentAt])
	return session, time.Duration(user+system) * tick, resident, err1 == nil && err2 == nil && err3 == nil && err4 == nil
}

func (s *sampler) sampleMachine(period time.Duration) {
	if text, err := os.ReadFile("/proc/stat"); err == nil {
		line, _, _ := strings.Cut(string(text), "\n")
		var total, idle time.Duration
		for n, field := range strings.Fields(line)[1:] {
			value, _ := strconv.ParseInt(field, 10, 64)
			if n < 8 { // guest times are already included in user
				total += time.Duration(value) * tick
			}
			if n == 3 || n == 4 {
				idle += time.Duration(value) * tick
			}
		}
		if s.total > 0 && period > 0 {
			s.busy = int(max((total-s.total)-(idle-s.idle), 0) * 1000 / period)
		}
		s.total, s.idle = total, idle
	}
	total, available := memory()
	s.memTotal, s.memUsed = total, total-available
}

// memory returns the machine's total and available memory, in MiB.
func memory() (total, available int) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kib, _ := strconv.Atoi(fields[1])
		switch fields[0] {
		case "MemTotal:":
			total = kib >> 10
		case "MemAvailable:":
			available = kib >> 10
		}
	}
	return total, available
}

func machineMemory() int {
	total, _ := memory()
	return total
}

func diskOf(path string) (total, free uint64) {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return 0, 0
	}
	return fs.Blocks * uint64(fs.Bsize), fs.Bavail * uint64(fs.Bsize)
}

// bootID returns the id of the machine's current boot, or "".
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
