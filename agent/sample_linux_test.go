package agent

import (
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// A sample has every process: the test itself counts for its session's leader, which may
// have ended.
func TestSample_HasThisProcess(t *testing.T) {
	t.Parallel()
	if !slices.Contains(processes(), strconv.Itoa(unix.Getpid())) {
		t.Error("the test is not among the processes")
	}
	session, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	s := newSampler(t.TempDir())
	if u := s.usage(session); u.MemoryMiB == 0 {
		t.Errorf("the session %d of the test uses no memory: %+v", session, u)
	}
	if r := s.resources(); r.MemoryMiB == 0 || r.DiskMiB == 0 {
		t.Errorf("the machine has %+v", r)
	}
}

// BenchmarkSample takes a sample of this machine.
func BenchmarkSample(b *testing.B) {
	s := newSampler(b.TempDir())
	b.ReportAllocs()
	for b.Loop() {
		s.sample()
	}
}
