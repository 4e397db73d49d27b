package scenario

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/musterhq/muster/test/gameserver"
	"github.com/musterhq/muster/test/node"
)

// host runs a number of game server processes until its context ends. A process that
// ends is replaced by a new one, whatever happens to Muster.
type host struct {
	place *node.Place
	ctx   context.Context

	mu        sync.Mutex
	nextPort  int
	processes []*process // all that ever existed
	running   sync.WaitGroup
}

// process is one game server and what was acknowledged to it.
type process struct {
	*gameserver.Process
	port int32

	mu        sync.Mutex
	activated bool // ActivateGameSession was acknowledged
	ended     bool // TerminateServerProcess was acknowledged
}

// note records what was acknowledged to the process.
func (p *process) note(what *bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*what = true
}

// acknowledged returns what was acknowledged to the process.
func (p *process) acknowledged() (activated, ended bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.activated, p.ended
}

func newHost(ctx context.Context, place *node.Place, slots int) *host {
	h := &host{place: place, ctx: ctx, nextPort: 20000}
	for range slots {
		h.running.Go(h.slot)
	}
	return h
}

// slot keeps one process running.
func (h *host) slot() {
	for h.ctx.Err() == nil {
		if p := h.launch(); p != nil {
			h.serve(p)
		}
	}
}

// launch starts a process; it returns nil if Muster is unavailable.
func (h *host) launch() *process {
	o := h.place.Options()
	o.Manual = true
	o.Retry = 10 * time.Millisecond
	o.Timeout = 20 * time.Second
	h.mu.Lock()
	h.nextPort++
	o.Port = h.nextPort
	h.mu.Unlock()
	s, err := gameserver.Launch(h.ctx, o)
	if err != nil {
		pause(h.ctx)
		return nil
	}
	p := &process{Process: s, port: int32(o.Port)}
	h.mu.Lock()
	h.processes = append(h.processes, p)
	h.mu.Unlock()
	return p
}

// serve runs a process to its end: it becomes ready and serves a game session, or
// more than one if Muster is wrong.
func (h *host) serve(p *process) {
	if err := repeat(h.ctx, func() error { return p.Ready(h.ctx) }); err != nil {
		p.Kill()
		return
	}
	for {
		select {
		case <-p.Done():
			return
		case start := <-p.Started():
			go func() {
				if repeat(h.ctx, func() error { return p.Activate(h.ctx, start.GameSessionID) }) == nil {
					p.note(&p.activated)
				}
			}()
		case <-p.Terminated():
			h.end(p)
			return
		}
	}
}

// end sends ProcessEnding and exits, whether there is an answer or not.
func (h *host) end(p *process) {
	if p.End(h.ctx) == nil {
		p.note(&p.ended)
	}
}

// repeat calls f until it has an answer, even if the connection breaks.
func repeat(ctx context.Context, f func() error) error {
	for {
		err := f()
		if refused, ok := errors.AsType[*gameserver.RefusedError](err); ok && refused.Status < 500 {
			return err
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		pause(ctx)
	}
}

// pause waits between two attempts to reach a Muster that may be unavailable.
func pause(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	<-ctx.Done()
}

// all returns the processes so far.
func (h *host) all() []*process {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]*process(nil), h.processes...)
}

// on returns the process at a port.
func (h *host) on(port int32) *process {
	for _, p := range h.all() {
		if p.port == port {
			return p
		}
	}
	return nil
}

// back waits until every living process has been heard again.
func (h *host) back(ctx context.Context) error {
	for _, p := range h.all() {
		for {
			err := p.Heartbeat(ctx, gameserver.Healthy)
			if err == nil || gone(p) {
				break
			}
			if ctx.Err() != nil {
				return fmt.Errorf("process %s did not come back: %w", p.ID(), err)
			}
			pause(ctx)
		}
	}
	return nil
}

func gone(p *process) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

func (h *host) checkHosted() error {
	var all []*gameserver.Process
	for _, p := range h.all() {
		all = append(all, p.Process)
	}
	return hostedOnce(all)
}

// hostedOnce checks that no process was ever assigned two game sessions and no game session two
// processes.
func hostedOnce(all []*gameserver.Process) error {
	at := map[string]string{}
	for _, p := range all {
		hosted := p.Hosted()
		if len(hosted) > 1 {
			return fmt.Errorf("process %s was given %d game sessions: %v", p.ID(), len(hosted), hosted)
		}
		for _, id := range hosted {
			if other, twice := at[id]; twice {
				return fmt.Errorf("game session %s was given to processes %s and %s", id, other, p.ID())
			}
			at[id] = p.ID()
		}
	}
	return nil
}
