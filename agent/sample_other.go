//go:build !linux

package agent

import "time"

// sample measures nothing: only Linux is supported.
func (s *sampler) sample() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
}

// machineMemory returns the memory offered if it cannot be determined, in MiB.
func machineMemory() int { return 8 << 10 }

func diskOf(string) (total, free uint64) { return 0, 0 }

func bootID() string { return "" }
