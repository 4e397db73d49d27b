package pages

import (
	"context"
	"errors"
	"testing"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/internal/fault"
)

// What a page says of a process whose log nobody can read, or not now.
func TestTailOf(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		tail *Tail
		err  error
		why  string
		says error
	}{
		"a process that no agent runs": {why: noAgent},
		"an agent that is away":        {err: fault.Invalid("the agent of host h is not connected"), why: "The agent of host h is not connected."},
		"too many requests":            {err: fault.New(fault.Throttling, "busy"), says: fault.New(fault.Throttling, "busy")},
		"another failure":              {err: broken, says: broken},
		"a log":                        {tail: &Tail{}},
	} {
		p := &Pages{Services: Services{Tail: func(context.Context, *compute.Process, int) (*Tail, error) { return c.tail, c.err }}}
		tail, why, err := p.tailOf(t.Context(), &compute.Process{}, 1)
		if tail != c.tail || why != c.why || (err == nil) != (c.says == nil) || err != nil && err.Error() != c.says.Error() {
			t.Errorf("%s: %v, %q, %v; want %v, %q, %v", name, tail, why, err, c.tail, c.why, c.says)
		}
	}
}
