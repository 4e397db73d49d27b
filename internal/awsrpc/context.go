package awsrpc

import (
	"context"
	"sync"
	"time"
)

// callContext is the context of a handler: that of the request, with the call and a
// deadline. Its timer starts when somebody waits for the context to end; most handlers
// only read what is in memory.
type callContext struct {
	request  context.Context
	call     *call
	deadline time.Time

	mu     sync.Mutex
	timed  context.Context // nil until somebody waits
	cancel context.CancelFunc
	over   bool
}

type callKey struct{} // of a request's *call

func (c *callContext) begin(of *call) {
	c.request, c.call = of.request.Context(), of
	c.deadline = time.Now().Add(of.server.options.Timeout)
	if d, ok := c.request.Deadline(); ok && d.Before(c.deadline) {
		c.deadline = d
	}
}

// end ends the context, as the handler has returned.
func (c *callContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.cancel != nil {
		c.cancel()
	}
}

// current returns the context that ends with this one, or, if nobody waits for that yet,
// the context of the request.
func (c *callContext) current(wait bool) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timed == nil {
		if !wait && !c.over {
			return c.request
		}
		c.timed, c.cancel = context.WithDeadline(c.request, c.deadline)
		if c.over {
			c.cancel()
		}
	}
	return c.timed
}

// Deadline implements context.Context.
func (c *callContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Done implements context.Context.
func (c *callContext) Done() <-chan struct{} { return c.current(true).Done() }

// Err implements context.Context.
func (c *callContext) Err() error {
	return c.current(!time.Now().Before(c.deadline)).Err()
}

// Value implements context.Context. A context with a timer also answers what package
// context asks, so that contexts derived from this one end with it.
func (c *callContext) Value(key any) any {
	if key == (callKey{}) {
		return c.call
	}
	return c.current(false).Value(key)
}
