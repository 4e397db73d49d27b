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
	maxIll     = 3 // reports of ill health in a row that make a process unhealthy
)

// health is what a process reported lately. It never reaches the store; only
// what follows from it does.
type health struct {
	heard   time.Time // last report, or connection
	ill     int       // reports of ill health in a row
	hearing bool      // the store knows that pushes are heard
	given   bool      // the process was called unhealthy
}

func (h *health) connected(now time.Time) { h.heard = now }

// report takes a heartbeat, and tells whether it makes the process unhealthy.
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

// silent tells whether a process that should report has not for too long.
func (h *health) silent(now time.Time, timeout time.Duration) bool {
	if h.given || now.Sub(h.heard) < timeout {
		return false
	}
	h.given = true
	return true
}

// hear tells the store that the process takes pushes from now on: its first
// heartbeat after the answer to ActivateServerProcess proves that it read that
// answer, and so does, nearly, a connection that is still up a moment later.
func (p *peer) hear(ctx context.Context) {
	p.mu.Lock()
	known := p.health.hearing
	p.mu.Unlock()
	row := p.row()
	if known || row == nil || row.Status != compute.Active {
		return
	}
	if !row.Hearing {
		if err := p.s.opts.Computes.Hearing(ctx, p.ref); err != nil {
			p.s.log.Error("process not marked as hearing, trying again at its next heartbeat", "process", p.key, "error", err)
			return
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.health.hearing = true
}

// settled is how many times HearAfter a new connection of a process that was ready
// before has to stand: an SDK that missed the answer to ActivateServerProcess asks
// for it again at once.
const settled = 10

// hearAgain counts a process as hearing that became ready before its connection
// was lost, and so does not wait for its next heartbeat.
func (p *peer) hearAgain(c *conn) {
	if row := p.row(); row != nil && row.Status == compute.Active && !row.Hearing {
		c.hearAfter(settled * p.s.opts.HearAfter)
	}
}

// giveUp has an unhealthy process end.
func (p *peer) giveUp(ctx context.Context, text string) {
	if err := p.s.opts.Computes.Unhealthy(ctx, p.ref, text); err != nil {
		p.s.log.Error("unhealthy process not ended, trying again", "process", p.key, "error", err)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.health.given = false
	}
}

// Run watches over the connected processes until ctx ends.
func (s *Server) Run(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			s.sweep(ctx, now)
		}
	}
}

// sweep looks at each process for what no message will bring up.
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

// tidy lets old answers go, drops connections that another replaced and that
// have fallen silent, and those of a process that is over.
func (p *peer) tidy(view *store.Snapshot, now time.Time) {
	over := !p.s.opts.Computes.Lives(view, p.ref)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replies.expire(now.Add(-p.s.opts.ReplayWindow))
	for i, c := range p.conns {
		if i < len(p.conns)-1 && now.Sub(c.silentSince()) >= p.s.opts.SupersededIdle {
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

// tooSilent tells whether a connected ACTIVE process has sent no heartbeat for too long.
func (p *peer) tooSilent(view *store.Snapshot, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.conns) == 0 || now.Sub(p.health.heard) < p.s.opts.HeartbeatTimeout {
		return false
	}
	row := p.s.opts.Computes.Process(view, p.key)
	return row != nil && row.Status == compute.Active && p.health.silent(now, p.s.opts.HeartbeatTimeout)
}

// reconcile does again what the end of the last connection should have done.
func (p *peer) reconcile(ctx context.Context) {
	if !p.presence.TryLock() {
		return // a connection comes or goes at this moment
	}
	defer p.presence.Unlock()
	if !p.gone {
		p.settle(ctx)
	}
}
