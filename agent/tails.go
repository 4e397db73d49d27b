package agent

import (
	"context"
	"time"

	"github.com/musterhq/muster/hosts/protocol"
)

// Bounds of requests for what processes have written.
const (
	maxTails = 4               // at a time
	tailTime = 5 * time.Second // of one
)

// tails answers requests for what running processes have written, and what they used.
type tails struct {
	instances *instances
	places    chan struct{} // one for each that is being answered
	done      chan protocol.Tailed
}

func newTails(of *instances) *tails {
	return &tails{instances: of, places: make(chan struct{}, maxTails), done: make(chan protocol.Tailed, maxTails)}
}

// begin answers a request in another goroutine, until ctx ends.
func (t *tails) begin(ctx context.Context, want protocol.Tail) {
	go func() {
		ctx, cancel := context.WithTimeout(ctx, tailTime)
		defer cancel()
		select {
		case t.places <- struct{}{}:
			defer func() { <-t.places }()
		case <-ctx.Done():
			return // Muster waits no longer
		}
		select {
		case t.done <- t.answer(ctx, want):
		case <-ctx.Done():
		}
	}()
}

func (t *tails) answer(ctx context.Context, want protocol.Tail) protocol.Tailed {
	i := t.instances.find(want.InstanceID)
	if i == nil {
		return protocol.Tailed{ID: want.ID, Problem: "the instance is not on this host any more"}
	}
	out, err := i.Tail(ctx, want.ProcessID, max(0, min(want.Most, protocol.MaxTail)))
	if err != nil {
		out.Problem = err.Error()
	}
	out.ID = want.ID
	return out
}

// Tail returns the end of what a running process of an instance has written, and what it
// used lately, like a Tail message from Muster.
func (a *Agent) Tail(ctx context.Context, want protocol.Tail) protocol.Tailed {
	ctx, cancel := context.WithTimeout(ctx, tailTime)
	defer cancel()
	return a.host.tails.answer(ctx, want)
}
