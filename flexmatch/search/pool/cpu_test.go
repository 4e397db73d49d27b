//go:build unix

package pool_test

import (
	"syscall"
	"testing"
	"time"
)

// processor returns the processor time that this process has used.
func processor(b *testing.B) time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// busy reports processor time in milliseconds per operation. On a machine with other load
// it is more meaningful than elapsed time.
func busy(b *testing.B, total time.Duration) {
	b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "cpu-ms/op")
}
