package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/musterhq/muster/internal/plain"
	"github.com/musterhq/muster/setup"
)

// Apply does what a plan says on a server whose state it was made for. What fails holds up only
// what needs it; the error names all that is not done. A new plan contains the rest.
func (s *Server) Apply(ctx context.Context, want *setup.Setup, state *State, plan setup.Plan) error {
	return s.maker(want, state).apply(ctx, plan)
}

// apply does what a plan says: fleets are begun and the rest is done, in the order of the plan;
// then all fleets are waited for together, and what needs them to be ready follows.
func (m *maker) apply(ctx context.Context, plan setup.Plan) error {
	c := &carrying{maker: m, failed: map[setup.Resource]bool{}, pending: map[setup.Resource][]setup.Resource{}}
	for _, a := range plan {
		if a.Op == setup.Leave {
			continue
		}
		c.all++
		if err := c.first(ctx, a); err != nil {
			return err
		}
	}
	if err := c.finish(ctx); err != nil {
		return err
	}
	for _, a := range c.later {
		if err := c.carry(ctx, a); err != nil {
			return err
		}
	}
	return c.err()
}

// carrying is a plan that is being carried out.
type carrying struct {
	*maker
	all      int
	fleets   []setup.Action // to be waited for
	later    []setup.Action // that need them
	failures []failure
	failed   map[setup.Resource]bool
	pending  map[setup.Resource][]setup.Resource // what is not ready yet, and what it needs of that
}

// failure is an action that was not done.
type failure struct {
	setup.Action
	err error
}

var past = map[setup.Op]string{setup.Create: "created", setup.Update: "updated", setup.Replace: "replaced", setup.Delete: "deleted"}

func failed(a setup.Action, err error) error {
	return fmt.Errorf("%s %s %s: %w", a.Op, a.Kind, a.Name, err)
}

// fail notes that an action failed. It returns an error if the others would fail too.
func (c *carrying) fail(ctx context.Context, a setup.Action, err error) error {
	var unreachable *smithyhttp.RequestSendError
	if ctx.Err() != nil || errors.As(err, &unreachable) {
		return failed(a, err)
	}
	if c.all > 1 && c.rolling == nil { // the error of a deployment, which concerns one fleet, says it
		c.tell("%s %s: FAILED: %v", a.Kind, a.Name, err)
	}
	c.failures = append(c.failures, failure{a, err})
	c.failed[a.Resource()] = true
	return nil
}

// err returns what was not done.
func (c *carrying) err() error {
	var all []error
	for _, f := range c.failures {
		all = append(all, failed(f.Action, f.err))
	}
	if len(all) == 0 || c.all == 1 || c.rolling != nil {
		return errors.Join(all...)
	}
	are := "are"
	if len(all) == 1 {
		are = "is"
	}
	return fmt.Errorf("%d of %s %s not made:\n%w\nAll that does not need them is done. Remove the causes and run the command again: it does the rest", len(all), plain.Count(c.all, "change"), are, errors.Join(all...))
}

// first does what can be done of an action before the fleets are ready.
func (c *carrying) first(ctx context.Context, a setup.Action) error {
	var waits []setup.Resource
	there := true // what it needs exists
	for _, need := range a.Needs {
		if _, ok := c.pending[need]; ok {
			waits = append(waits, need)
			there = there && c.arns[need.Kind][need.Name] != ""
		}
	}
	switch err := c.blocked(a); {
	case err != nil:
		return c.fail(ctx, a, err)
	case isFleet(a.Kind) && a.Op != setup.Delete:
		if a.Op == setup.Create {
			if err := c.begin(ctx, a); err != nil {
				return c.fail(ctx, a, err)
			}
		}
		c.fleets = append(c.fleets, a)
		c.pending[a.Resource()] = nil
		return nil
	case a.Op == setup.Delete && len(c.pending) > 0, len(waits) > 0 && !(a.Op == setup.Create && there):
		c.later = append(c.later, a)
		c.pending[a.Resource()] = waits
		return nil
	}
	if len(waits) > 0 { // it is created, and leads to what is not ready
		c.pending[a.Resource()] = waits
	}
	return c.carry(ctx, a)
}

// blocked returns why an action cannot be done, nil if it can.
func (c *carrying) blocked(a setup.Action) error {
	if a.Impossible != "" {
		return errors.New(a.Impossible)
	}
	var missing []string
	for _, need := range a.Needs {
		if c.hasFailed(need) {
			missing = append(missing, fmt.Sprintf("%s %s", need.Kind, need.Name))
		}
	}
	if missing == nil {
		return nil
	}
	if a.Op == setup.Delete {
		return fmt.Errorf("not tried, since %s may still use it and could not be changed", strings.Join(missing, " and "))
	}
	return fmt.Errorf("not tried, since it needs %s", strings.Join(missing, " and "))
}

// hasFailed reports whether a resource, or something that it leads to, is not as it is to be.
func (c *carrying) hasFailed(r setup.Resource) bool {
	return c.failed[r] || slices.ContainsFunc(c.pending[r], c.hasFailed)
}

// carry does one action for a resource that is no fleet, or deletes one.
func (c *carrying) carry(ctx context.Context, a setup.Action) error {
	err := c.blocked(a)
	if err == nil {
		err = c.do(ctx, a)
	}
	if err != nil {
		return c.fail(ctx, a, err)
	}
	c.tell("%s %s: %s", a.Kind, a.Name, past[a.Op])
	return nil
}

// finish waits for the fleets, and makes them as they are to be. One that waits does not hold
// up the others, though only one of them does something at a time.
func (c *carrying) finish(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var turn sync.Mutex
	own := *c.Server
	own.turn = &turn
	shared := &maker{Server: &own, State: c.State, want: c.want, deployed: c.deployed, rolling: c.rolling}
	var ended error
	var all sync.WaitGroup
	for _, a := range c.fleets {
		all.Go(func() {
			turn.Lock()
			defer turn.Unlock()
			err := ctx.Err()
			if err == nil {
				err = shared.fleet(ctx, a)
			}
			switch {
			case err == nil:
				c.tell("%s %s: %s", a.Kind, a.Name, past[a.Op])
			case ended == nil:
				if ended = c.fail(ctx, a, err); ended != nil {
					stop()
				}
			}
		})
	}
	all.Wait()
	return ended
}
