package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"github.com/musterhq/muster/hosts/protocol"
)

// ExecOptions describe a program that is to run in a container beside its own.
type ExecOptions struct {
	Container string   // its name in the group
	Command   []string // the program and its arguments; empty: a shell
	Env       []string // in addition to the container's, whose values they replace
	Terminal  *protocol.ShellTerminal
}

// Exec is a program that was started in a container. It has the container's user,
// capabilities, limits, network and files.
type Exec struct {
	engine  *Engine
	id      string
	place   place // of the container
	conn    client.HijackedResponse
	outputs map[protocol.ShellOp]io.Reader
	over    chan struct{} // closed when the output has ended
	closing sync.Once

	mu     sync.Mutex
	leader int      // id on this machine of the program's process; 0 until it is known
	killed bool     // it has to be ended
	early  []string // signals that came before leader was known
}

// Times of a program in a container.
const (
	execEvery = 100 * time.Millisecond // between questions to the engine
	execLeft  = 2 * time.Second        // limits the end of what a program has left
	execSays  = 10 * time.Second       // limits a question

	maxEarly = 16 // signals that are kept for a program
)

// shells are the programs that are started if none is named, by preference.
var shells = [][]string{{"/bin/bash", "--norc"}, {"/bin/sh"}, {"/bin/ash"}, {"/busybox/sh"}}

// Exec starts a program in a container of the group. Errors have texts for people.
func (r *Running) Exec(ctx context.Context, o ExecOptions) (*Exec, error) {
	members := r.all()
	at := slices.IndexFunc(members, func(m member) bool { return m.name == o.Container && m.role != roleNetwork })
	if at < 0 {
		return nil, fmt.Errorf("the group has no container %s", o.Container)
	}
	e, id := r.engine, members[at].id
	found, err := e.api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		return nil, err
	}
	if found.Container.State == nil || !found.Container.State.Running {
		return nil, fmt.Errorf("container %s does not run", o.Container)
	}
	x := &Exec{engine: e, outputs: map[protocol.ShellOp]io.Reader{}, over: make(chan struct{})}
	if x.place, err = placeOf(found.Container.State.Pid, id); err != nil {
		return nil, err
	}
	if len(o.Command) == 0 {
		if o.Command, err = e.shellIn(ctx, o.Container, id); err != nil {
			return nil, err
		}
	}
	terminal := o.Terminal != nil
	var size client.ConsoleSize // older engines ignore it
	if terminal {
		size = client.ConsoleSize{Height: uint(o.Terminal.Rows), Width: uint(o.Terminal.Columns)}
	}
	created, err := e.api.ExecCreate(ctx, id, client.ExecCreateOptions{TTY: terminal, ConsoleSize: size, AttachStdin: true, AttachStdout: true, AttachStderr: !terminal, Env: o.Env, Cmd: o.Command})
	if err != nil {
		return nil, err
	}
	x.id = created.ID
	attached, err := e.api.ExecAttach(ctx, x.id, client.ExecAttachOptions{TTY: terminal, ConsoleSize: size})
	if err != nil {
		return nil, err
	}
	x.conn = attached.HijackedResponse
	x.connect(terminal)
	if terminal {
		x.Resize(o.Terminal.ShellSize)
	}
	return x, nil
}

// shellIn returns the shell that a container has.
func (e *Engine) shellIn(ctx context.Context, name, id string) ([]string, error) {
	for _, words := range shells {
		_, err := e.api.ContainerStatPath(ctx, id, client.ContainerStatPathOptions{Path: words[0]})
		if err == nil {
			return words, nil
		}
		if !cerrdefs.IsNotFound(err) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the image of container %s has no shell, as one that is built FROM scratch: name a program that it has, after --, or a container with a shell by --container, or build the image on one that has a shell", name)
}

// connect provides the program's output.
func (x *Exec) connect(terminal bool) {
	if terminal {
		x.outputs[protocol.ShellOutput] = &ending{from: x.conn.Reader, over: x.over}
		return
	}
	out, toOut := io.Pipe()
	errs, toErrs := io.Pipe()
	x.outputs[protocol.ShellOutput], x.outputs[protocol.ShellErrors] = out, errs
	go func() {
		_, _ = stdcopy.StdCopy(toOut, toErrs, x.conn.Reader) // Wait says how the program ended
		toOut.Close()
		toErrs.Close()
		close(x.over)
	}()
}

// ending is output whose end, however it comes, is io.EOF.
type ending struct {
	from io.Reader
	over chan struct{}
	once sync.Once
}

func (r *ending) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil {
		r.once.Do(func() { close(r.over) })
		err = io.EOF
	}
	return n, err
}

// Outputs returns the program's output, which has to be read.
func (x *Exec) Outputs() map[protocol.ShellOp]io.Reader { return x.outputs }

// Write passes input to the program.
func (x *Exec) Write(p []byte) (int, error) { return x.conn.Conn.Write(p) }

// CloseInput ends the program's input.
func (x *Exec) CloseInput() error { return x.conn.CloseWrite() }

// Resize changes the size of the program's terminal. At worst the screen looks wrong.
func (x *Exec) Resize(to protocol.ShellSize) {
	ctx, cancel := context.WithTimeout(x.engine.ctx, execSays)
	defer cancel()
	size := client.ExecResizeOptions{Height: uint(to.Rows), Width: uint(to.Columns)}
	for {
		_, err := x.engine.api.ExecResize(ctx, x.id, size)
		if err == nil || isUnreachable(err) {
			return
		}
		select { // it may not have started yet
		case <-time.After(execEvery):
		case <-x.over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Wait waits until the program has ended, and returns its exit code.
func (x *Exec) Wait() (code int, err error) {
	tick := time.NewTicker(execEvery)
	defer tick.Stop()
	over, late := x.over, (<-chan time.Time)(nil)
	for {
		select {
		case <-over:
			over, late = nil, time.After(execSays)
		case <-late:
			return 0, errors.New("the container engine does not say how the program ended")
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(x.engine.ctx, execSays)
		now, err := x.engine.api.ExecInspect(ctx, x.id, client.ExecInspectOptions{})
		cancel()
		switch {
		case cerrdefs.IsNotFound(err): // with its container
			return 128 + 9, nil
		case x.engine.ctx.Err() != nil:
			return 0, errors.New("the agent ends")
		case err != nil:
			continue
		case now.Running:
			x.leads(now.PID)
		case now.PID > 0 || over == nil:
			x.leads(now.PID)
			return now.ExitCode, nil
		}
	}
}

// leads stores which process the program is.
func (x *Exec) leads(pid int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if pid <= 0 {
		return
	}
	x.leader = pid
	if x.killed {
		x.place.signal(x.leader, 0, killSignal)
	}
	for _, name := range x.early {
		x.place.signalGroup(x.leader, name)
	}
	x.early = nil
}

// Signal sends a signal to the program's group; on a terminal, to the one in the foreground.
// Other names than those of signals are ignored.
func (x *Exec) Signal(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.leader == 0 && len(x.early) < maxEarly {
		x.early = append(x.early, name)
		return
	}
	x.place.signalGroup(x.leader, name)
}

// Kill ends the program and the processes of its session.
func (x *Exec) Kill() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.killed = true
	for end := time.Now().Add(execLeft); x.place.signal(x.leader, 0, killSignal) > 0 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond) // until the system has ended them
	}
}

// Close ends the connection to the program, and with it the output.
func (x *Exec) Close() { x.closing.Do(x.conn.Close) }
