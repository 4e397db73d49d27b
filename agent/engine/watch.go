package engine

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"
)

const (
	checkEvery  = 30 * time.Second // all groups, should an event be lost
	reconnectIn = time.Second      // after the stream of events has ended
)

// watch follows the engine's events from now on. The caller must hold mu.
func (e *Engine) watch() {
	if !e.watching {
		e.watching = true
		e.done.Go(e.follow)
	}
}

// follow makes groups ask for the states of their containers: after each event, and all of
// them after a time without events. Events are hints; what counts is what the engine
// answers.
func (e *Engine) follow() {
	for e.ctx.Err() == nil {
		err := e.followStream()
		if e.ctx.Err() != nil {
			return
		}
		e.outlive()
		e.log.Info("events of the container engine end; connecting again", "err", err)
		timer := time.NewTimer(reconnectIn)
		select {
		case <-timer.C:
		case <-e.ctx.Done():
			timer.Stop()
		}
	}
}

// outlive marks the groups that are there while the engine is not.
func (e *Engine) outlive() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.running {
		r.outlived.Store(true)
	}
}

func (e *Engine) followStream() error {
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	stream := e.api.Events(ctx, client.EventsListOptions{Filters: e.filters().Add("type", string(events.ContainerEventType))})
	e.nudge(nil) // what happened before
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case event := <-stream.Messages:
			e.nudge(&event)
		case err := <-stream.Err:
			return err
		case <-tick.C:
			e.nudge(nil)
		}
	}
}

// nudge makes the group of an event ask the engine, or all groups.
func (e *Engine) nudge(event *events.Message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.running {
		if event == nil || r.has(event.Actor.ID) {
			r.nudge()
		}
	}
}

// has reports whether a container is the group's.
func (r *Running) has(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.members, func(m member) bool { return m.id == id })
}

// isUnreachable reports whether the engine did not answer.
func isUnreachable(err error) bool {
	var network net.Error
	return client.IsErrConnectionFailed(err) || errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// semaphore limits how many do something at once.
type semaphore chan struct{}

func (s semaphore) acquire(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s semaphore) release() { <-s }
