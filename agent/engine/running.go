package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/musterhq/muster/hosts/protocol"
)

// Running is a group whose containers were started.
type Running struct {
	engine *Engine
	labels Labels
	dirty  chan struct{} // the engine may know something new
	over   chan struct{} // closed when the group is of no more interest
	ended  chan struct{} // closed when the group has ended

	refreshing sync.Mutex // held while the engine is asked, so that answers are in order

	outlived atomic.Bool // the engine, or the agent, may have been started again while it ran

	mu       sync.Mutex
	members  []member // in the order of start; fixed once all were created
	states   []state
	changed  chan struct{} // closed and replaced when states change
	launched bool          // all have been started
	ending   bool          // the outcome is known; ended is closed soon
	end      End
	left     bool // over is closed
}

// Lines and bytes of output in an End, which are enough for a stack trace and the line before it.
const (
	tailLines = 1000
	tailBytes = 64 << 10
	tailTime  = 15 * time.Second // an engine under load takes seconds for an answer
)

// defaultStop is the signal that asks a container to end if its image names none.
const defaultStop = "SIGTERM"

func newRunning(e *Engine, labels Labels) *Running {
	return &Running{engine: e, labels: labels, dirty: make(chan struct{}, 1), over: make(chan struct{}), ended: make(chan struct{}), changed: make(chan struct{})}
}

// Group returns what the group is.
func (r *Running) Group() Labels { return r.labels }

// Ended returns a channel that is closed when the group has ended: one of its essential
// containers has, or is unhealthy. Other containers may run until Stop.
func (r *Running) Ended() <-chan struct{} { return r.ended }

// End returns how the group ended. The caller must have seen Ended closed.
func (r *Running) End() End {
	r.mu.Lock()
	defer r.mu.Unlock()
	end := r.end
	end.Tail = slices.Clone(end.Tail)
	return end
}

// Containers returns the current state of the group's containers.
func (r *Running) Containers() []protocol.ContainerStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]protocol.ContainerStatus, 0, len(r.members))
	ip := ""
	for _, s := range r.states {
		if ip == "" {
			ip = s.ip // the network is shared
		}
	}
	for i, m := range r.members {
		if m.role != roleNetwork {
			all = append(all, protocol.ContainerStatus{Name: m.name, RuntimeID: m.id, IPAddress: ip, Running: r.states[i].phase == started})
		}
	}
	return all
}

// Logs writes what the engine has kept of a container's output. The container must not
// have been removed.
func (r *Running) Logs(ctx context.Context, container string, to io.Writer) error {
	return r.logs(ctx, container, "all", to)
}

// LastLines writes the last lines of what the engine has kept of a container's output, at
// most so many. The container must not have been removed.
func (r *Running) LastLines(ctx context.Context, container string, most int, to io.Writer) error {
	return r.logs(ctx, container, strconv.Itoa(most), to)
}

func (r *Running) logs(ctx context.Context, name, tail string, to io.Writer) error {
	r.mu.Lock()
	at := slices.IndexFunc(r.members, func(m member) bool { return m.name == name })
	var id string
	if at >= 0 {
		id = r.members[at].id
	}
	r.mu.Unlock()
	if id == "" {
		return errors.New("the group has no container " + name)
	}
	from, err := r.engine.api.ContainerLogs(ctx, id, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Tail: tail})
	if err != nil {
		return err
	}
	defer from.Close()
	_, err = stdcopy.StdCopy(to, to, from)
	return err
}

// lastBytes keeps the end of what is written to it.
type lastBytes struct{ kept []byte }

func (l *lastBytes) Write(p []byte) (int, error) {
	l.kept = append(l.kept, p...)
	if extra := len(l.kept) - tailBytes; extra > 0 {
		l.kept = append(l.kept[:0], l.kept[extra:]...)
	}
	return len(p), nil
}

// tail returns the last lines of a container's output; none if they cannot be read.
func (r *Running) tail(ctx context.Context, name string) []string {
	ctx, cancel := context.WithTimeout(ctx, tailTime)
	defer cancel()
	var last lastBytes
	if err := r.logs(ctx, name, strconv.Itoa(tailLines), &last); err != nil {
		return nil
	}
	content := last.kept
	if len(content) == tailBytes { // start with a whole line
		_, content, _ = bytes.Cut(content, []byte("\n"))
	}
	text := strings.TrimRight(strings.ToValidUTF8(string(content), "�"), "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	return lines[max(len(lines)-tailLines, 0):]
}

// all returns the containers that were created, in the order of start.
func (r *Running) all() []member {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.members)
}

// stateOf returns the state of a container, and a channel that is closed when any changes.
func (r *Running) stateOf(name string) (state, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, m := range r.members {
		if m.name == name {
			return r.states[i], r.changed
		}
	}
	return state{phase: removed}, r.changed
}

// outcome returns how the group has ended, and whether it has.
func (r *Running) outcome() (End, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return outcome(r.members, r.states)
}

// askEvery is how often the engine is asked by those who wait for a change, should an
// event be lost.
const askEvery = 5 * time.Second

// wait waits for a change.
func (r *Running) wait(ctx context.Context, changed <-chan struct{}) error {
	timer := time.NewTimer(askEvery)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
		r.nudge()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// nudge makes the group's follower ask the engine.
func (r *Running) nudge() {
	select {
	case r.dirty <- struct{}{}:
	default: // it will ask
	}
}

func (r *Running) gone() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.left {
		r.left = true
		close(r.over)
	}
}

// follow keeps the states up to date until the group is of no more interest.
func (r *Running) follow(ctx context.Context) {
	for {
		select {
		case <-r.dirty:
			if err := r.refresh(ctx); err != nil && ctx.Err() == nil {
				r.engine.log.Debug("containers cannot be inspected", "instance", r.labels.Instance, "group", r.labels.Group, "err", err)
			}
		case <-r.over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// refresh asks the engine for the states of the containers.
func (r *Running) refresh(ctx context.Context) error {
	r.refreshing.Lock()
	defer r.refreshing.Unlock()
	members := r.all()
	states := make([]state, len(members))
	for i := range members {
		var err error
		if states[i], err = r.engine.inspect(ctx, &members[i]); err != nil {
			return err
		}
	}
	r.set(members, states)
	return nil
}

// set stores the states of the containers.
func (r *Running) set(members []member, states []state) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(members) < len(r.members) {
		return // one more was created meanwhile
	}
	r.members, r.states = members, states
	close(r.changed)
	r.changed = make(chan struct{})
	if !r.launched || r.ending {
		return
	}
	if end, over := outcome(members, states); over {
		r.ending = true
		r.engine.done.Go(func() { r.finish(end) })
	}
}

// finish completes the description of the group's end.
func (r *Running) finish(end End) {
	end.Tail = r.tail(r.engine.ctx, end.Container)
	r.mu.Lock()
	r.end = end
	r.mu.Unlock()
	close(r.ended)
}

// inspect returns the state of a container.
func (e *Engine) inspect(ctx context.Context, m *member) (state, error) {
	if m.id == "" {
		return state{phase: removed}, nil
	}
	if err := e.asking.acquire(ctx); err != nil {
		return state{}, err
	}
	defer e.asking.release()
	found, err := e.api.ContainerInspect(ctx, m.id, client.ContainerInspectOptions{})
	if cerrdefs.IsNotFound(err) {
		return state{phase: removed}, nil
	}
	if err != nil {
		return state{}, err
	}
	if c := found.Container.Config; c != nil {
		m.stop = cmp.Or(c.StopSignal, m.stop)
		m.checked = c.Healthcheck != nil
	}
	return stateFrom(found.Container), nil
}

func stateFrom(c container.InspectResponse) state {
	var s state
	if c.State == nil {
		return s
	}
	switch c.State.Status {
	case container.StateCreated, "configured", "initialized":
		s.phase = created
	case container.StateExited, container.StateDead, container.StateRemoving, "stopped":
		s.phase = exited
		s.code, s.oom, s.reason = c.State.ExitCode, c.State.OOMKilled, c.State.Error
		s.finished, _ = time.Parse(time.RFC3339Nano, c.State.FinishedAt) // zero if the engine does not know
	default:
		s.phase = started
		if c.State.Health != nil {
			s.health = string(c.State.Health.Status)
		}
	}
	if n := c.NetworkSettings; n != nil {
		for _, endpoint := range n.Networks {
			if endpoint != nil && endpoint.IPAddress.IsValid() {
				s.ip, s.gateway = endpoint.IPAddress.String(), endpoint.Gateway
			}
		}
	}
	return s
}
