package serversdk

import (
	"context"
	"fmt"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/internal/store"
)

const (
	sweepEvery = 5 * time.Second
	maxIll     = 3 // consecutive reports of ill health that make a process unhealthy
)

// health is what a process reported lately. It is never stored; only its consequences
// are.
type health struct {
	heard   time.Time // last report, or connection
	ill     int       // consecutive reports of ill health
	hearing bool      // the store knows that the process receives pushes
	given   bool      // the process has been reported as unhealthy
}

// report records a heartbeat, and reports whether it makes the process unhealthy.
func (h *health) report(now time.Time, healthy bool) bool {
	h.heard = now
	if healthy {
		h.ill = 0
		return false
	}
	h.ill++
	if h.ill < maxIll || h.given {
		return false
	}
	h.given = true
	return true
}

// silent reports whether a process that must send heartbeats has not for too long.
func (h *health) silent(now time.Time, timeout time.Duration) bool {
	if h.given || now.Sub(h.heard) < timeout {
		return false
	}
	h.given = true
	return true
}

// hear records in the store that the process receives pushes from now on. Its first
// heartbeat after the answer to ActivateServerProcess proves that it has read that
// answer; a connection that is still open a moment later makes it very likely.
func (p *peer) hear(ctx context.Context) {
	p.mu.Lock()
	known := p.health.hearing
	p.mu.Unlock()
	row := p.row()
	if known || row == nil || row.Status != compute.Active {
		return
	}
	if !row.Hearing {
		if err := p.s.opts.Computes.Hearing(ctx, p.ref()); err != nil {
			p.s.log.Error("process not marked as hearing, trying again at its next heartbeat", "process", p.key, "error", err)
			return
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.health.hearing = true
}

// settled is for how many times HearAfter the new connection of a process that was
// ready before must stay open: an SDK that missed the answer to ActivateServerProcess
// repeats the request immediately.
const settled = 10

// hearAgain makes a process that became ready before its connection was lost count as
// hearing without waiting for its next heartbeat.
func (p *peer) hearAgain(c *conn) {
	if row := p.row(); row != nil && row.Status == compute.Active && !row.Hearing {
		c.hearAfter(settled * p.s.opts.HearAfter)
	}
}

// giveUp begins the end of an unhealthy process.
func (p *peer) giveUp(ctx context.Context, text string) {
	if err := p.s.opts.Computes.Unhealthy(ctx, p.ref(), text); err != nil {
		p.s.log.Error("unhealthy process not ended, trying again", "process", p.key, "error", err)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.health.given = false
	}
}

// Run monitors the connected processes until ctx ends.
func (s *Server) Run(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	pinged := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			s.sweep(ctx, now)
			next := now.Add(sweepEvery) // the last time to send what is due before the next sweep
			s.ping(pinged, next)
			pinged = next
		}
	}
}

// ping sends pings on the connections of which nothing will have been read for
// Options.PingAfter, twice that and so on between two times.
func (s *Server) ping(before, now time.Time) {
	if s.opts.PingAfter < 0 {
		return
	}
	for _, p := range s.all() {
		p.each(func(c *conn) { c.ping(before, now, s.opts.PingAfter) })
	}
}

// sweep checks each process for what no message triggers.
func (s *Server) sweep(ctx context.Context, now time.Time) {
	for _, w := range s.notices.due(now) {
		s.tell(ctx, w)
	}
	view := s.opts.Store.View()
	for _, p := range s.all() {
		p.tidy(view, now)
		if p.tooSilent(view, now) {
			p.giveUp(ctx, fmt.Sprintf("the process sent no heartbeat for %s", s.opts.HeartbeatTimeout))
		}
		p.reconcile(ctx)
	}
}

// tidy drops expired answers, older connections that have fallen silent, and the
// connections of a process that has ended.
func (p *peer) tidy(view *store.Snapshot, now time.Time) {
	over := !p.s.opts.Computes.Lives(view, p.ref())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replies.expire(now.Add(-p.s.opts.ReplayWindow))
	if p.messages != nil && p.messages.Tokens() >= float64(p.s.opts.MessageBurst) {
		p.messages = nil
	}
	for i, c := range p.conns {
		if i < len(p.conns)-1 && now.Sub(time.UnixMilli(c.read.Load())) >= p.s.opts.SupersededIdle {
			c.drop()
		}
	}
	switch {
	case !over:
		p.overSince = time.Time{}
	case p.overSince.IsZero():
		p.overSince = now
	case now.Sub(p.overSince) >= p.s.opts.EndLinger:
		for _, c := range p.conns {
			c.drop()
		}
	}
}

// tooSilent reports whether a connected ACTIVE process has sent no heartbeat for too long.
func (p *peer) tooSilent(view *store.Snapshot, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.conns) == 0 || now.Sub(p.health.heard) < p.s.opts.HeartbeatTimeout {
		return false
	}
	row := p.s.opts.Computes.Process(view, p.key)
	return row != nil && row.Status == compute.Active && p.health.silent(now, p.s.opts.HeartbeatTimeout)
}

// reconcile repeats what the end of the last connection should have done.
func (p *peer) reconcile(ctx context.Context) {
	if !p.presence.TryLock() {
		return // a connection is being opened or closed
	}
	defer p.presence.Unlock()
	if !p.gone {
		p.settle(ctx)
	}
}
