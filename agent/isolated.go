package agent

import (
	"os/exec"

	"github.com/musterhq/muster/agent/isolate"
	"github.com/musterhq/muster/hosts/protocol"
)

// maxProcesses bounds what a game server may start, threads included: far above
// what games need and far below what stops a machine.
const maxProcesses = 4096

// findGroups finds out whether processes can be held to their instance's size.
func (a *Agent) findGroups() {
	if a.opts.Launcher == "" {
		return
	}
	groups, err := isolate.Find()
	if err != nil {
		a.log.Warn("game servers are not held to the size of their instance", "error", err)
		return
	}
	a.groups = groups
}

// isolate starts a process within a group of its own.
func (i *instance) isolate(cmd *exec.Cmd, w protocol.Wish, id string) error {
	if i.a.groups == nil || i.own != nil {
		return nil
	}
	group, err := i.a.groups.Make(id, isolate.Limits{MemoryMiB: w.MemoryMiB, CPUMillis: w.CPUMillis, Processes: maxProcesses})
	if err != nil {
		return err
	}
	return group.Wrap(cmd, i.a.opts.Launcher)
}

// leaveGroup ends what is left of a process's group, and tells whether memory
// ran out in it.
func (i *instance) leaveGroup(id string) (oom bool) {
	if i.a.groups == nil || i.own != nil {
		return false
	}
	group := i.a.groups.Get(id)
	oom = group.OOMKills() > 0
	if err := group.Remove(); err != nil {
		i.log.Warn("a process's group is left", "process_id", id, "error", err)
	}
	return oom
}
