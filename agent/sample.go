package agent

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/hosts/protocol"
)

// The disk is full for launches when more than fullAt percent of it are used and
// less than plenty bytes are free.
const (
	fullAt = 95
	plenty = 1 << 30
)

// sampler holds the resource usage of this machine, as of its last sample.
type sampler struct {
	root string

	mu       sync.Mutex
	last     time.Time
	cpu      map[int]time.Duration // used by the processes of a session, by the session's leader
	usages   map[int]protocol.Usage
	before   map[int][]protocol.UsageAt // the last ones, by the session's leader
	idle     time.Duration              // of all processors since the boot
	total    time.Duration
	busy     int // thousandths of processors, over the last period
	memTotal int // MiB
	memUsed  int
}

func newSampler(root string) *sampler {
	s := &sampler{root: root, cpu: map[int]time.Duration{}, usages: map[int]protocol.Usage{}}
	s.sample()
	return s
}

// usage returns the usage of a process and the processes it started.
func (s *sampler) usage(pid int) protocol.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usages[pid]
}

// used returns the usage of a process and the processes it started over the last minutes,
// oldest first.
func (s *sampler) used(pid int) []protocol.UsageAt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.before[pid])
}

// mostUsed is how many measurements are kept: ten minutes of them.
const mostUsed = int(10 * time.Minute / protocol.Period)

// addUsage adds a measurement to others, and drops the oldest if there are too many.
func addUsage(all []protocol.UsageAt, at time.Time, u protocol.Usage) []protocol.UsageAt {
	all = append(all, protocol.UsageAt{At: at, Usage: u})
	return all[max(len(all)-mostUsed, 0):]
}

// full reports whether the disk is too full to launch anything.
func (s *sampler) full() bool {
	total, free := s.disk()
	return isFull(total, free)
}

func isFull(total, free uint64) bool {
	return total > 0 && free < plenty && (total-free)*100/total >= fullAt
}

// disk returns the size of the agent's file system and its free space, in bytes.
func (s *sampler) disk() (total, free uint64) { return diskOf(s.root) }

func (s *sampler) resources() protocol.Resources {
	total, free := s.disk()
	s.mu.Lock()
	defer s.mu.Unlock()
	return protocol.Resources{
		CPUMillis: runtime.NumCPU() * 1000, CPUMillisUsed: s.busy, MemoryMiB: s.memTotal, MemoryUsedMiB: s.memUsed,
		DiskMiB: int64(total >> 20), DiskFreeMiB: int64(free >> 20), DiskFull: isFull(total, free),
	}
}
