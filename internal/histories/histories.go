// Package histories checks random histories of what can happen in virtual time, for tests.
package histories

import (
	"fmt"
	"runtime/debug"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// Check is rapid.Check in virtual time. Each history has a bubble of its own, so that the time
// which passes in all of them does not count against the deadline of the test.
func Check(t *testing.T, history func(*rapid.T)) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		var failure any // rapid ends a history with a panic, and recovers it outside the bubble
		synctest.Test(t, func(*testing.T) {
			defer func() {
				if failure = recover(); failure != nil {
					rt.Logf("%s", debug.Stack())
				}
			}()
			history(rt)
		})
		// While it shrinks a failure, rapid takes panics from the same line for the same one.
		if fmt.Sprintf("%T", failure) == "rapid.invalidData" {
			panic(failure)
		}
		if failure != nil {
			panic(failure)
		}
	})
}
