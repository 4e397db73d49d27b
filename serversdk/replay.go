package serversdk

import (
	"context"
	"slices"
	"time"
)

// Limits of the answers that are kept for one process.
const (
	maxReplies      = 1024
	maxRepliesBytes = 1 << 20
)

// reply is the answer to a request, or a request in progress.
type reply struct {
	id    string
	frame []byte
	at    time.Time     // when frame was set; zero in progress
	done  chan struct{} // closed when frame is set; nil if nothing waits for it
}

// replies are a process's requests in progress and answers, the answers oldest first.
type replies []*reply

// once runs a request, unless it runs or ran already: then it returns the same bytes
// again. An answer that says "try again" (kept is false) is not kept.
func (p *peer) once(ctx context.Context, id string, run func() (frame []byte, kept bool)) []byte {
	p.mu.Lock()
	if at := p.replies.find(id); at >= 0 {
		return p.repeat(ctx, p.replies[at])
	}
	r := &reply{id: id}
	p.replies = append(p.replies, r)
	p.mu.Unlock()

	frame, kept := run()

	p.mu.Lock()
	defer p.mu.Unlock()
	r.frame, r.at = frame, time.Now()
	at := p.replies.find(id)
	p.replies = slices.Delete(p.replies, at, at+1)
	if kept {
		p.replies = append(p.replies, r)
	}
	p.replies.expire(r.at.Add(-p.s.opts.ReplayWindow))
	p.replies.bound()
	if r.done != nil {
		close(r.done)
	}
	return frame
}

// repeat returns an answer, once it is there. p.mu must be held; repeat unlocks it.
func (p *peer) repeat(ctx context.Context, r *reply) []byte {
	if !r.at.IsZero() {
		p.mu.Unlock()
		return r.frame
	}
	if r.done == nil {
		r.done = make(chan struct{})
	}
	done := r.done
	p.mu.Unlock()
	select {
	case <-done:
		return r.frame
	case <-ctx.Done():
		return nil
	}
}

// find returns the index of the answer to a request, or -1. A process has few, most of the
// time one, and the latest is looked for most often.
func (a replies) find(id string) int {
	for i, r := range slices.Backward(a) {
		if r.id == id {
			return i
		}
	}
	return -1
}

// expire drops the answers sent up to a time, and releases the memory when none is left.
func (a *replies) expire(until time.Time) {
	oldest := slices.IndexFunc(*a, func(r *reply) bool { return !r.at.IsZero() })
	if oldest >= 0 && !(*a)[oldest].at.After(until) {
		*a = slices.DeleteFunc(*a, func(r *reply) bool { return !r.at.IsZero() && !r.at.After(until) })
	}
	if len(*a) == 0 {
		*a = nil
	}
}

// bound drops the oldest answers beyond the limits, but never the newest.
func (a *replies) bound() {
	kept, bytes, newest := 0, 0, true
	for i, r := range slices.Backward(*a) {
		if r.at.IsZero() {
			continue
		}
		kept, bytes = kept+1, bytes+len(r.frame)
		if kept > maxReplies || bytes > maxRepliesBytes && !newest {
			*a = slices.Delete(*a, i, i+1)
		}
		newest = false
	}
}
