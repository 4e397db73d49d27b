// Package heap sets how a server's memory is collected: a server that answers
// thousands of requests a second spends a fifth of its time on the collector
// where the heap may only double.
package heap

import (
	"os"
	"runtime/debug"
)

// growth is by how much of what it holds the heap grows between two collections,
// in percent; Go's own default is 100.
const growth = 400

// Tune lets the heap grow further between two collections, as long as it is far
// from the memory there is: from half of it on, collections come as often as it
// takes to stay there. GOGC and GOMEMLIMIT in the environment win. Call it once,
// from main.
func Tune() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	limit := memory() / 2
	if limit <= 0 {
		return // without a bound the default is the safe choice
	}
	debug.SetMemoryLimit(limit)
	debug.SetGCPercent(growth)
}
