package agent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/engine"
	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wake"
)

// containerEngine is this machine's engine as instances use it (group.Engine).
type containerEngine struct {
	engine  *engine.Engine
	address netip.Addr
	log     *slog.Logger
	cancel  context.CancelFunc
	done    sync.WaitGroup

	mu  sync.Mutex
	all map[*containers]bool // whose use is measured
}

func newContainerEngine(ctx context.Context, e *engine.Engine, log *slog.Logger) (*containerEngine, error) {
	at, err := e.HostAddress(ctx)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &containerEngine{engine: e, address: at, log: log, cancel: cancel, all: map[*containers]bool{}}
	c.done.Go(func() { c.measure(life) })
	c.done.Go(func() { c.collect(life) })
	return c, nil
}

// Close ends what is done in the background. Containers continue.
func (e *containerEngine) Close() error {
	e.cancel()
	e.done.Wait()
	return e.engine.Close()
}

func (e *containerEngine) Facts() protocol.Engine         { return e.engine.Facts() }
func (e *containerEngine) Ping(ctx context.Context) error { return e.engine.Ping(ctx) }
func (e *containerEngine) Address() netip.Addr            { return e.address }
func (e *containerEngine) ProcessOf(pid int) string       { return e.engine.ProcessOf(pid) }

// away reports whether a request failed because no engine answers.
func (e *containerEngine) away(ctx context.Context) bool {
	return ctx.Err() == nil && e.Ping(ctx) != nil && ctx.Err() == nil
}

func (e *containerEngine) Pull(ctx context.Context, image string, progress func(int)) error {
	err := e.engine.Pull(ctx, image, progress)
	var p *engine.PullError
	switch {
	case err == nil, ctx.Err() != nil:
		return err
	case e.away(ctx):
		return group.ErrNoEngine
	case !errors.As(err, &p):
		return err
	}
	return &group.Refused{Reason: err.Error(), Lasts: p.Final()}
}

func (e *containerEngine) Start(ctx context.Context, l group.Launch) (group.Containers, error) {
	r, err := e.engine.Start(ctx, engine.Group{
		Labels:    engine.Labels{Instance: l.InstanceID, Group: l.Labels.Group, Definition: l.Definition, ProcessID: l.ProcessID},
		MemoryMiB: l.Group.MemoryMiB, CPUMillis: l.Group.CPUMillis, Containers: l.Group.Containers,
	})
	if err != nil {
		if e.away(ctx) {
			return nil, group.ErrNoEngine
		}
		return nil, err
	}
	return e.hold(r), nil
}

func (e *containerEngine) Find(ctx context.Context) ([]group.Containers, error) {
	found, err := e.engine.Find(ctx)
	all := make([]group.Containers, 0, len(found))
	for _, r := range found {
		all = append(all, e.hold(r))
	}
	return all, err
}

func (e *containerEngine) hold(r *engine.Running) *containers {
	c := &containers{Running: r, of: e}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all[c] = true
	return c
}

// measure measures what containers use, until ctx ends.
func (e *containerEngine) measure(ctx context.Context) {
	for wake.Sleep(ctx, protocol.Period) {
		e.mu.Lock()
		all := make([]*containers, 0, len(e.all))
		for c := range e.all {
			all = append(all, c)
		}
		e.mu.Unlock()
		for _, c := range all {
			if err := c.measure(ctx); err != nil {
				if ctx.Err() == nil {
					e.log.Debug("the use of containers is not known", "group", c.Running.Group().Group, "error", err)
				}
				break // the engine is away, most likely
			}
		}
	}
}

// How often images are looked for that no group needs, and how long one is kept for the next
// group that does.
const (
	collectEvery = time.Hour
	keepImage    = 24 * time.Hour
)

// collect removes images that were fetched and are not needed any more, until ctx ends.
func (e *containerEngine) collect(ctx context.Context) {
	for wake.Sleep(ctx, collectEvery) {
		removed, err := e.engine.Collect(ctx, keepImage)
		if err != nil && ctx.Err() == nil {
			e.log.Warn("images that are not needed any more were not removed", "error", err)
		}
		if removed > 0 {
			e.log.Info("images that are not needed any more were removed", "images", removed)
		}
	}
}

// containers are a running group as instances use it (group.Containers).
type containers struct {
	*engine.Running
	of *containerEngine

	mu    sync.Mutex
	last  engine.Sample
	usage protocol.Usage
	used  []protocol.UsageAt
}

func (c *containers) measure(ctx context.Context) error {
	now, err := c.Running.Sample(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.last.At.IsZero()
	c.usage, c.last = now.Since(c.last), now
	if !first {
		c.used = addUsage(c.used, now.At, c.usage)
	}
	return nil
}

func (c *containers) Usage() protocol.Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.usage
}

func (c *containers) Used() []protocol.UsageAt {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.used)
}

func (c *containers) Labels() group.Labels {
	l := c.Running.Group()
	return group.Labels{InstanceID: l.Instance, Group: l.Group, Definition: l.Definition, ProcessID: l.ProcessID, Started: l.Started}
}

func (c *containers) Status() []protocol.ContainerStatus { return c.Running.Containers() }

func (c *containers) Stop(ctx context.Context, grace time.Duration) error {
	return c.Running.Terminate(ctx, grace)
}

func (c *containers) Remove(ctx context.Context) error {
	if err := c.Running.Remove(ctx); err != nil {
		return err
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	delete(c.of.all, c)
	return nil
}

func (c *containers) Output(ctx context.Context, container string, to io.Writer, follow bool) error {
	if follow {
		return c.Running.Follow(ctx, container, to)
	}
	return c.Running.Logs(ctx, container, to)
}
