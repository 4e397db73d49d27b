package serversdk

import (
	"context"
	"time"
)

// Limits of the answers that are kept for one process.
const (
	maxReplies      = 1024
	maxRepliesBytes = 1 << 20
)

// reply is the answer to a request, or a request in progress.
type reply struct {
	done  chan struct{} // closed when frame is set
	frame []byte
	at    time.Time
}

// replies holds a process's answers by request.
type replies struct {
	byID  map[string]*reply
	order []string // of finished ones, oldest first
	bytes int
}

// once runs a request, unless it runs or ran already: then it returns the same bytes
// again. An answer that says "try again" (kept is false) is not kept.
func (p *peer) once(ctx context.Context, id string, run func() (frame []byte, kept bool)) []byte {
	p.mu.Lock()
	if r := p.replies.byID[id]; r != nil {
		p.mu.Unlock()
		select {
		case <-r.done:
			return r.frame
		case <-ctx.Done():
			return nil
		}
	}
	r := &reply{done: make(chan struct{})}
	p.replies.add(id, r)
	p.mu.Unlock()

	frame, kept := run()

	p.mu.Lock()
	defer p.mu.Unlock()
	r.frame, r.at = frame, time.Now()
	if kept {
		p.replies.keep(id, r, p.s.opts.ReplayWindow)
	} else {
		delete(p.replies.byID, id)
	}
	close(r.done)
	return frame
}

func (a *replies) add(id string, r *reply) {
	if a.byID == nil {
		a.byID = map[string]*reply{}
	}
	a.byID[id] = r
}

// keep adds a finished answer and makes room for it.
func (a *replies) keep(id string, r *reply, window time.Duration) {
	a.order = append(a.order, id)
	a.bytes += len(r.frame)
	a.expire(r.at.Add(-window))
	for len(a.order) > maxReplies || len(a.order) > 1 && a.bytes > maxRepliesBytes {
		a.dropOldest()
	}
}

// expire deletes the answers sent up to a time, and releases the memory when none is
// left.
func (a *replies) expire(until time.Time) {
	for len(a.order) > 0 && !a.byID[a.order[0]].at.After(until) {
		a.dropOldest()
	}
	if len(a.byID) == 0 {
		*a = replies{}
	}
}

func (a *replies) dropOldest() {
	id := a.order[0]
	a.order = a.order[1:]
	a.bytes -= len(a.byID[id].frame)
	delete(a.byID, id)
}
