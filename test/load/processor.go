package main

import (
	"syscall"
	"time"
)

// processor returns the processor time that this process has used; on a machine with
// other work it is more meaningful than elapsed time.
func processor() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
