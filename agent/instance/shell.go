package instance

import (
	"context"
	"os/exec"
	"sync"

	"github.com/musterhq/muster/agent/install"
	"github.com/musterhq/muster/agent/isolate"
	"github.com/musterhq/muster/agent/jail"
	"github.com/musterhq/muster/agent/shell"
	"github.com/musterhq/muster/hosts/protocol"
	stream "github.com/musterhq/muster/hosts/shell"
)

// shells are the remote shells of an instance. They end before the instance does.
type shells struct {
	mu     sync.Mutex
	over   bool
	cancel map[*context.CancelFunc]struct{}
	open   sync.WaitGroup
}

// enter adds a shell, unless the instance ends. The shell has to end with the context, and
// then call leave.
func (s *shells) enter(ctx context.Context) (of context.Context, leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil, nil, false
	}
	of, cancel := context.WithCancel(ctx)
	if s.cancel == nil {
		s.cancel = map[*context.CancelFunc]struct{}{}
	}
	s.cancel[&cancel] = struct{}{}
	s.open.Add(1)
	return of, func() {
		cancel()
		s.mu.Lock()
		delete(s.cancel, &cancel)
		s.mu.Unlock()
		s.open.Done()
	}, true
}

// end ends all shells, waits until nothing of them is left, and allows no more.
func (s *shells) end() {
	s.mu.Lock()
	s.over = true
	for cancel := range s.cancel {
		(*cancel)()
	}
	s.mu.Unlock()
	s.open.Wait()
}

// Shell runs the program that an operator asks for, in the folder of the build and isolated
// as game servers are, until it ends, ctx ends, or the instance does. It returns how it
// ended.
func (i *Instance) Shell(ctx context.Context, id string, st *stream.Stream, c protocol.ShellCommand, control <-chan protocol.ShellFrame) protocol.ShellEnd {
	ctx, leave, ok := i.shells.enter(ctx)
	if !ok {
		return shell.Refused("the instance is ending")
	}
	defer leave()
	now := i.seen.Load()
	if phase := now.report.Phase; phase != protocol.Activating && phase != protocol.Draining || !i.Home.hasTree() {
		return shell.Refused("the instance is " + string(phase) + ": its build has to be installed first")
	}
	process := jail.Process{
		ID: jail.ShellID(id), Tree: i.Home.game(), SDKURL: now.desired.SDKURL,
		Limits: isolate.Limits{MemoryMiB: now.desired.MemoryMiB, CPUMillis: now.desired.CPUMillis},
	}
	if c.Process != "" {
		if process.Among = i.slots.pid(c.Process); process.Among == 0 {
			return shell.Refused("process " + c.Process + " does not run in this instance")
		}
	}
	end := shell.Serve(ctx, st, c, shell.Options{
		Name: now.desired.Compute, Dir: i.Home.game(), Env: i.shellEnvironment(now.desired),
		Start: func(cmd *exec.Cmd) error { return i.jail.Start(cmd, process) },
		End:   func() { i.jail.End(process.ID) },
	}, control)
	switch {
	case end.Problem != "":
	case i.shells.ended():
		end.Problem = "the instance has ended"
	case c.Process != "" && end.Signal != "" && i.slots.pid(c.Process) != process.Among:
		end.Problem = "process " + c.Process + " has ended, and the shell with it"
	}
	return end
}

func (s *shells) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// shellEnvironment returns the environment variables of shells: those of game servers,
// without the token with which those connect.
func (i *Instance) shellEnvironment(d protocol.Desired) []string {
	return append(install.CleanEnvironment(),
		"HOME="+i.Home.game(),
		"GAMELIFT_SDK_FLEET_ID="+d.FleetID,
		"GAMELIFT_SDK_HOST_ID="+d.Compute,
		"GAMELIFT_REGION="+d.Region,
	)
}
