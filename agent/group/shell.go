package group

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/agent/engine"
	"github.com/musterhq/muster/agent/shell"
	"github.com/musterhq/muster/hosts/protocol"
	stream "github.com/musterhq/muster/hosts/shell"
)

// Shell runs the program that an operator asks for in a container of the group that is a
// compute, until it ends, ctx ends, or the container does. It returns how it ended.
func (i *Instance) Shell(ctx context.Context, compute string, st *stream.Stream, c protocol.ShellCommand, control <-chan protocol.ShellFrame) protocol.ShellEnd {
	if c.Process != "" {
		return shell.Refused("in a container, a program is among its processes anyway: leave out --process, and name the container by --container")
	}
	containers, name, problem := i.containerOf(compute, c.Container)
	if problem != "" {
		return shell.Refused(problem)
	}
	// The container's variables have the token with which its game server connects.
	o := engine.ExecOptions{Container: name, Command: c.Command, Terminal: c.Terminal, Env: []string{"GAMELIFT_SDK_AUTH_TOKEN=", "HISTFILE=", "PS1=" + compute + "$ "}}
	if c.Terminal != nil && c.Terminal.Type != "" {
		o.Env = append(o.Env, "TERM="+c.Terminal.Type)
	}
	program, err := containers.Exec(ctx, o)
	if err != nil {
		return shell.Refused("the program could not be started: " + err.Error())
	}
	end := shell.Attend(ctx, st, program, c.Terminal != nil, control)
	if end.Problem == "" && ctx.Err() == nil && i.seen.Load().running[groupOf(compute)] != containers {
		end.Problem = "the container has ended, and the shell with it"
	}
	return end
}

// groupOf returns the name of the group that is a compute.
func groupOf(compute string) string {
	_, name, _ := strings.Cut(compute, "/")
	return name
}

// containerOf returns the running containers of the group that is a compute, and the name of
// the one that is asked for, by default the game server's, or why there is none.
func (i *Instance) containerOf(compute, asked string) (of Containers, name, problem string) {
	v := i.seen.Load()
	at := slices.IndexFunc(v.desired.Groups, func(g protocol.Group) bool { return g.Compute == compute && compute != "" })
	if i.IsOwn() || at < 0 {
		return nil, "", "this compute offers no remote shells"
	}
	g := v.desired.Groups[at]
	if of = v.running[g.Name]; of == nil {
		return nil, "", "the containers of " + compute + " do not run now; try again when they do"
	}
	name = cmp.Or(asked, gameOf(g))
	var run []string
	for _, c := range of.Status() {
		if c.Running {
			run = append(run, c.Name)
		}
	}
	if !slices.Contains(run, name) {
		return nil, "", fmt.Sprintf("container %q does not run in %s; those that run are: %s", name, compute, strings.Join(run, ", "))
	}
	return of, name, ""
}
