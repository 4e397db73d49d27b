package cell

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// reach is whether this standby can reach the owner, as its probes found.
type reach struct {
	mu     sync.Mutex
	probed bool      // at least once since this node became standby
	last   time.Time // the last successful probe; zero: never
	err    error     // of the last probe
}

// note records the result of a probe and reports whether the result has changed.
func (r *reach) note(err error) (news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	news = !r.probed && err != nil || r.probed && (err == nil) != (r.err == nil)
	r.probed, r.err = true, err
	if err == nil {
		r.last = time.Now()
	}
	return news
}

// forget drops the result, because there is no owner to be reached.
func (r *reach) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.probed, r.err, r.last = false, nil, time.Time{}
}

// Unreachable returns why this standby cannot forward to the owner: it has not
// reached it for a whole lease, or never has. It returns nil if it can, or need not.
func (g *Gate) Unreachable() error {
	g.reach.mu.Lock()
	defer g.reach.mu.Unlock()
	if g.reach.err == nil || !g.reach.last.IsZero() && time.Since(g.reach.last) < g.keeper.opts.TTL {
		return nil
	}
	return g.reach.err
}

// Probe checks whether the owner can be reached as a forwarded request would reach
// it, and records the result for Unreachable. A node that owns the cell reaches
// itself.
func (g *Gate) Probe(ctx context.Context) {
	route, _ := g.keeper.Route()
	if route.Mine || !route.Live {
		g.reach.forget()
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 2*reachIn)
	defer cancel()
	err := g.proxy.probe(ctx, route)
	if ctx.Err() != nil && err == nil {
		return
	}
	switch news := g.reach.note(err); {
	case news && err != nil:
		g.keeper.log.Warn("this node cannot reach the cell's owner, to which it has to forward; check the network between them and the owner's node address",
			"owner", route.Owner.Name, "address", route.Owner.Address, "error", err)
	case news:
		g.keeper.log.Info("this node reaches the cell's owner", "owner", route.Owner.Name, "address", route.Owner.Address)
	}
}

// Watch probes the owner at intervals until ctx ends.
func (g *Gate) Watch(ctx context.Context) {
	tick := time.NewTicker(g.keeper.interval())
	defer tick.Stop()
	for {
		_, changed := g.keeper.Route()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-changed:
		}
		g.Probe(ctx)
	}
}

// probe sends the owner a request over the connections that forwarded requests use.
// Any answer will do: the certificate shows that it is the owner's.
func (p *proxy) probe(ctx context.Context, to Route) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+to.Owner.Address+"/healthz", nil)
	if err != nil {
		return err
	}
	r.Header.Set(forwardedFor, prove(p.secret, r, "probe", p.now()))
	response, err := p.to(to).RoundTrip(r)
	if err != nil {
		return fmt.Errorf("the owner at %s cannot be reached: %w", to.Owner.Address, err)
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
	return err
}

// ReachesItself reports why a node cannot be reached at its own node address, as far
// as the node itself can check that.
func (g *Gate) ReachesItself(ctx context.Context) error {
	p := newProxy(g.keeper)
	defer p.close()
	ctx, cancel := context.WithTimeout(ctx, 2*reachIn)
	defer cancel()
	return p.probe(ctx, Route{Owner: g.keeper.opts.Node})
}
