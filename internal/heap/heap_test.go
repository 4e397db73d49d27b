package heap

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestTune(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells how much memory there is")
	}
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(math.MaxInt64)
	t.Cleanup(func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) })

	t.Setenv("GOGC", "50")
	Tune()
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("with GOGC in the environment the heap grows by %d %%", got)
	}

	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	Tune()
	if got := debug.SetGCPercent(100); got != growth {
		t.Errorf("the heap grows by %d %%, want %d", got, growth)
	}
	if got := debug.SetMemoryLimit(-1); got <= 0 || got > memory()/2 {
		t.Errorf("the heap's bound is %d of %d bytes", got, memory())
	}
}
