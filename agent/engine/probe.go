package engine

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// Docker runs health checks by itself. Podman leaves them to timers of systemd, which it has
// not everywhere; where they are missing, checks run as long as an Engine follows the group.

// probeEvery is how often it is looked whether a check is due.
const probeEvery = time.Second

// probe runs the health checks of a group's containers that are due and that nobody else
// runs, until the group is of no more interest.
func (r *Running) probe(ctx context.Context) {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-r.over:
			return
		case <-ctx.Done():
			return
		}
		r.mu.Lock()
		members, states, launched := r.members, r.states, r.launched
		r.mu.Unlock()
		checked, ran := false, false
		for i, m := range members {
			if m.id == "" || !m.checked {
				continue
			}
			checked = true
			if states[i].phase == started {
				ran = r.engine.probe(ctx, m.id) || ran
			}
		}
		if ran {
			r.nudge()
		}
		if launched && !checked {
			return
		}
	}
}

// The health check's interval where a definition names none.
const defaultInterval = 30 * time.Second

// probe runs a container's health check if it is due. It reports whether it did.
func (e *Engine) probe(ctx context.Context, id string) bool {
	found, err := e.api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil || !isDue(found.Container, time.Now()) {
		return false
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://podman/v4.0.0/libpod/containers/%s/healthcheck", id), http.NoBody)
	if err != nil {
		return false
	}
	resp, err := e.podman.Do(req)
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil
}

// isDue reports whether a container's health check should have run by now. A check that is
// half an interval late is one that nobody else runs.
func isDue(c container.InspectResponse, now time.Time) bool {
	if c.Config == nil || c.Config.Healthcheck == nil || c.State == nil {
		return false
	}
	interval := c.Config.Healthcheck.Interval
	if interval <= 0 {
		interval = defaultInterval
	}
	last, _ := time.Parse(time.RFC3339Nano, c.State.StartedAt)
	if h := c.State.Health; h != nil {
		for _, one := range h.Log {
			if one != nil && one.End.After(last) {
				last = one.End
			}
		}
	}
	return now.Sub(last) >= interval+interval/2
}

// podmanClient returns a client for what only Podman's own API has.
func podmanClient(api *client.Client) *http.Client {
	dial := api.Dialer()
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}}
}
