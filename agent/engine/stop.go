package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
)

// Least time that containers beside the game server's have to end if there is any grace.
const leastGrace = time.Second

// Between two tries to reach an engine that does not answer.
const againAfter = 500 * time.Millisecond

// Stop ends the group and removes its containers, with what they wrote.
func (r *Running) Stop(ctx context.Context, grace time.Duration) error {
	if err := r.Terminate(ctx, grace); err != nil {
		return err
	}
	return r.Remove(ctx)
}

// Terminate ends the group's containers and leaves them, so that their output can be read.
// The game server's container is asked to end and has grace to do so; then the others,
// those that were started last first, have the rest of it. What has not ended then is
// killed. Without grace all are killed at once.
func (r *Running) Terminate(ctx context.Context, grace time.Duration) error {
	deadline := time.Now().Add(grace)
	if err := r.again(ctx, r.refresh); err != nil {
		return err
	}
	games := func(m member) bool { return m.role == roleGame }
	others := func(m member) bool { return m.role != roleGame && m.role != roleNetwork }
	if grace > 0 {
		if err := r.ask(ctx, games, deadline); err != nil {
			return err
		}
		if latest := time.Now().Add(leastGrace); deadline.Before(latest) {
			deadline = latest
		}
		if err := r.ask(ctx, others, deadline); err != nil {
			return err
		}
	}
	all := func(member) bool { return true }
	if err := r.signal(ctx, all, func(member) string { return "SIGKILL" }); err != nil {
		return err
	}
	return r.awaitEnd(ctx, all)
}

// ask asks the chosen containers to end, and waits until they have, or until the deadline.
func (r *Running) ask(ctx context.Context, chosen func(member) bool, deadline time.Time) error {
	if err := r.signal(ctx, chosen, func(m member) string { return m.stop }); err != nil {
		return err
	}
	limited, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	if err := r.awaitEnd(limited, chosen); err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// active returns the chosen containers that run, the one that was started last first.
func (r *Running) active(chosen func(member) bool) ([]member, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []member
	for i, m := range slices.Backward(r.members) {
		if chosen(m) && r.states[i].phase == started {
			found = append(found, m)
		}
	}
	return found, r.changed
}

func (r *Running) signal(ctx context.Context, chosen func(member) bool, name func(member) string) error {
	found, _ := r.active(chosen)
	for _, m := range found {
		err := r.again(ctx, func(ctx context.Context) error {
			_, err := r.engine.api.ContainerKill(ctx, m.id, client.ContainerKillOptions{Signal: name(m)})
			return err
		})
		if err != nil && !cerrdefs.IsNotFound(err) && !cerrdefs.IsConflict(err) {
			if running, failed := r.engine.isRunning(ctx, m); failed != nil || running {
				return err
			}
		}
	}
	r.nudge()
	return nil
}

// isRunning reports whether a container runs.
func (e *Engine) isRunning(ctx context.Context, m member) (bool, error) {
	s, err := e.inspect(ctx, &m)
	return s.phase == started, err
}

// awaitEnd waits until the chosen containers have ended.
func (r *Running) awaitEnd(ctx context.Context, chosen func(member) bool) error {
	for {
		found, changed := r.active(chosen)
		if len(found) == 0 {
			return nil
		}
		if err := r.wait(ctx, changed); err != nil {
			return err
		}
	}
}

// again calls do until the engine answers.
func (r *Running) again(ctx context.Context, do func(context.Context) error) error {
	for {
		err := do(ctx)
		if err == nil || !isUnreachable(err) {
			return err
		}
		timer := time.NewTimer(againAfter)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// Remove removes the group's containers with their anonymous volumes, by force, and
// forgets the group.
func (r *Running) Remove(ctx context.Context) error {
	r.mu.Lock()
	members, ending := slices.Clone(r.members), r.ending
	r.mu.Unlock()
	if ending {
		<-r.ended // the last lines of output are read
	}
	err := r.again(ctx, func(ctx context.Context) error {
		err := r.engine.removeAll(ctx, members)
		if err == nil && r.outlived.Load() && len(members) > 0 {
			err = r.engine.disconnect(ctx, r.labels.key(), members[0])
		}
		return err
	})
	if err != nil {
		return err
	}
	r.set(members, slices.Repeat([]state{{phase: removed}}, len(members)))
	r.engine.release(r)
	return nil
}

// removeAll removes a group's members, the one whose network the others join last: Podman
// removes no container that others depend on.
func (e *Engine) removeAll(ctx context.Context, members []member) error {
	for _, m := range slices.Backward(members) {
		if m.id == "" {
			continue
		}
		if err := e.remove(ctx, m.id); err != nil {
			return err
		}
	}
	return nil
}

// disconnect makes Docker forget the network endpoint of a group's holder, which has been removed.
// Docker does so itself, except for a container that ended while dockerd was starting: it keeps the
// endpoint, the ports of the machine with it, and refuses to start a container of that name.
func (e *Engine) disconnect(ctx context.Context, key groupKey, holder member) error {
	if e.podman != nil || e.machine.opts.Network == HostNetwork {
		return nil
	}
	name := containerName(e.machine.opts.Owner, key, holder.name)
	_, err := e.api.NetworkDisconnect(ctx, cmp.Or(e.machine.opts.Network, network.NetworkBridge), client.NetworkDisconnectOptions{Container: name, Force: true})
	if err == nil {
		e.log.Info("released the ports of a container that ended while the container engine started", "instance", key.instance, "group", key.group)
	}
	if isUnreachable(err) {
		return err
	}
	if err != nil && !cerrdefs.IsNotFound(err) {
		e.log.Warn("the network of a container that has ended may be left", "instance", key.instance, "group", key.group, "err", err)
	}
	return nil
}

// remove removes a container. It is no error if that is gone, or goes.
func (e *Engine) remove(ctx context.Context, id string) error {
	_, err := e.api.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if cerrdefs.IsNotFound(err) {
		return nil
	}
	if cerrdefs.IsConflict(err) { // its removal is in progress
		if s, failed := e.inspect(ctx, &member{id: id}); failed == nil && (s.phase == removed || s.phase == exited) {
			return nil
		}
	}
	return err
}
