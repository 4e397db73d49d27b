package flexmatch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// While one caller is inside for a name, others for that name wait, and nobody else does. A caller
// whose context ends stops waiting.
func TestGates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gates
		first, err := g.enter(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		other, err := g.enter(t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		other()
		given, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := g.enter(given, "a"); !errors.Is(err, context.Canceled) {
			t.Errorf("who gives up gets %v", err)
		}
		entered := false
		go func() {
			second, err := g.enter(t.Context(), "a")
			if entered = err == nil; entered {
				second()
			}
		}()
		synctest.Wait()
		if entered {
			t.Error("two are inside for one name")
		}
		first()
		synctest.Wait()
		if !entered || len(g.m) != 0 {
			t.Errorf("the next one is inside: %v; %d gates are left", entered, len(g.m))
		}
	})
}
