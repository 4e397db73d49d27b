//go:build unix

package search_test

import (
	"syscall"
	"testing"
	"time"
)

// processor is the processor time that this process has used.
func processor(b *testing.B) time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// busy reports the processor time since a start, in milliseconds an operation:
// on a machine with other work it says more than the time that passed.
func busy(b *testing.B, total time.Duration) {
	b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "cpu-ms/op")
}
