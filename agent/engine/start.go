package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/musterhq/muster/hosts/protocol"
)

// ErrRunning reports that a group of the same name runs on the same instance.
var ErrRunning = errors.New("the group runs already")

// StartError reports why a group did not start.
type StartError struct {
	Container string // "" if it is the group's own fault
	End       *End   // how the container ended, if it did
	Err       error
}

func (e *StartError) Error() string {
	if e.Container == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("container %s: %v", e.Container, e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// clearWithin limits how long the containers of a group that did not start are removed.
const clearWithin = 30 * time.Second

// Start creates the containers of a group and starts them in the order of their
// dependencies. Their images must be there. It returns when all have been started, which
// can take as long as the conditions of dependencies do. If it fails, nothing is left; the
// error is ErrRunning or a *StartError.
func (e *Engine) Start(ctx context.Context, g Group) (*Running, error) {
	g.Started = time.Now().UTC()
	wanted, err := e.machine.describe(g)
	if err != nil {
		return nil, &StartError{Err: err}
	}
	r := newRunning(e, g.Labels)
	if !e.claim(r) {
		return nil, ErrRunning
	}
	if err := r.launch(ctx, g, wanted); err != nil {
		clearing, cancel := context.WithTimeout(context.WithoutCancel(ctx), clearWithin)
		defer cancel()
		if failed := r.Remove(clearing); failed != nil {
			e.log.Warn("containers of a group that did not start are left", "instance", g.Instance, "group", g.Group, "err", failed)
			e.release(r) // the next start removes them
		}
		return nil, err
	}
	return r, nil
}

// claim registers a group unless there is one of the same name.
func (e *Engine) claim(r *Running) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running[r.labels.key()] != nil {
		return false
	}
	e.running[r.labels.key()] = r
	e.watch()
	e.done.Go(func() { r.follow(e.ctx) })
	if e.podman != nil {
		e.done.Go(func() { r.probe(e.ctx) })
	}
	return true
}

func (e *Engine) release(r *Running) {
	e.mu.Lock()
	if e.running[r.labels.key()] == r {
		delete(e.running, r.labels.key())
	}
	e.mu.Unlock()
	r.gone()
}

func (r *Running) launch(ctx context.Context, g Group, wanted []client.ContainerCreateOptions) error {
	if err := r.engine.clear(ctx, g.key()); err != nil {
		return err
	}
	if err := r.engine.needPauseFor(ctx, wanted); err != nil {
		return &StartError{Err: err}
	}
	if err := r.create(ctx, wanted); err != nil {
		return err
	}
	containers := map[string]protocol.Container{}
	for _, c := range g.Containers {
		containers[c.Name] = c
	}
	for _, m := range r.all() {
		for _, d := range containers[m.name].DependsOn {
			if err := r.await(ctx, d, containers[d.Container]); err != nil {
				return err
			}
		}
		if _, err := r.engine.api.ContainerStart(ctx, m.id, client.ContainerStartOptions{}); err != nil {
			return r.notStarted(ctx, m, err)
		}
	}
	r.mu.Lock()
	r.launched = true
	r.mu.Unlock()
	if err := r.refresh(ctx); err != nil {
		return &StartError{Err: err}
	}
	r.engine.steady(r)
	return nil
}

// notStarted returns why a container was not started: an essential one may have ended
// before, with the network that the others join.
func (r *Running) notStarted(ctx context.Context, m member, err error) error {
	if r.refresh(ctx) == nil {
		if end, over := r.outcome(); over {
			end.Tail = r.tail(ctx, end.Container)
			return &StartError{Container: end.Container, End: &end, Err: errors.New("it ended before all containers of the group were started")}
		}
	}
	return &StartError{Container: m.name, Err: err}
}

// clear removes what an earlier run of a group left. It fails if that runs.
func (e *Engine) clear(ctx context.Context, key groupKey) error {
	left, err := e.api.ContainerList(ctx, client.ContainerListOptions{All: true,
		Filters: e.filters().Add("label", labelInstance+"="+key.instance, labelGroup+"="+key.group)})
	if err != nil {
		return &StartError{Err: err}
	}
	active, half := false, false
	containers := make([]found, 0, len(left.Items))
	for _, c := range left.Items {
		containers = append(containers, found{id: c.ID, labels: c.Labels})
		active = active || c.State == container.StateRunning || c.State == container.StatePaused
		half = half || c.State == container.StateCreated
	}
	if active && !half {
		return ErrRunning
	}
	if len(containers) == 0 {
		return nil
	}
	members := membersFrom(containers)
	err = e.removeAll(ctx, members)
	if err == nil {
		err = e.disconnect(ctx, key, members[0])
	}
	if err != nil {
		return &StartError{Err: err}
	}
	return nil
}

// create creates all containers, so that one in the state created is a sign of a group
// whose start did not come to its end.
func (r *Running) create(ctx context.Context, wanted []client.ContainerCreateOptions) error {
	holder := ""
	for i, w := range wanted {
		if i > 0 && w.HostConfig.NetworkMode != HostNetwork {
			w.HostConfig.NetworkMode = container.NetworkMode("container:" + holder)
		}
		made, err := r.engine.api.ContainerCreate(ctx, w)
		name := w.Config.Labels[labelContainer]
		switch {
		case cerrdefs.IsConflict(err) && i == 0:
			return ErrRunning // another agent is faster
		case cerrdefs.IsNotFound(err):
			return &StartError{Container: name, Err: fmt.Errorf("its image %s is not there", w.Config.Image)}
		case err != nil:
			return &StartError{Container: name, Err: err}
		}
		holder = cmp.Or(holder, made.ID)
		r.mu.Lock()
		r.members = append(r.members, member{name: name, id: made.ID, role: roleIn(w.Config.Labels[labelMembers], name), stop: defaultStop})
		r.states = append(r.states, state{})
		r.mu.Unlock()
	}
	return r.refresh(ctx)
}

// await waits until a dependency is met.
func (r *Running) await(ctx context.Context, d protocol.Dependency, on protocol.Container) error {
	for {
		s, changed := r.stateOf(d.Container)
		ok, err := met(d.Condition, s, on)
		if err == nil && !ok {
			if end, over := r.outcome(); over {
				d.Container, err = end.Container, errors.New(end.String())
			}
		}
		if err != nil {
			end := endOf(member{name: d.Container}, s)
			end.Tail = r.tail(ctx, d.Container)
			return &StartError{Container: d.Container, End: &end, Err: err}
		}
		if ok {
			return nil
		}
		if err := r.wait(ctx, changed); err != nil {
			return &StartError{Container: d.Container, Err: fmt.Errorf("it has not met the condition %s: %w", d.Condition, err)}
		}
	}
}

// met reports whether a container in a state meets a condition. It fails if it never can.
// A game server has no health check; it is as good as healthy once it runs.
func met(condition string, s state, on protocol.Container) (bool, error) {
	ended := s.phase == exited || s.phase == removed
	switch condition {
	case onStart:
		return s.phase != created, nil
	case onComplete:
		return ended, nil
	case onSuccess:
		if ended && (s.code != 0 || s.phase == removed) {
			return false, fmt.Errorf("it should have ended with code 0; it ended with code %d", s.code)
		}
		return ended, nil
	}
	switch {
	case ended:
		return false, fmt.Errorf("it should have become healthy; it ended with code %d", s.code)
	case s.health == "unhealthy":
		return false, errors.New("it should have become healthy; its health check failed")
	}
	return s.phase == started && (s.health == "healthy" || on.Health == nil), nil
}
