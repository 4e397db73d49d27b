package agent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/musterhq/muster/agent/isolate"
	"github.com/musterhq/muster/hosts/protocol"
)

// maxProcesses bounds what a game server may start, threads included: far above
// what games need and far below what stops a machine.
const maxProcesses = 4096

// findIsolation finds out what game servers can be held to on this machine. It
// fails where that is less than is required.
func (a *Agent) findIsolation() error {
	if a.opts.Launcher == "" || a.opts.Unconfined {
		return nil
	}
	for _, find := range []func() error{a.findGroups, a.findUsers, a.findMounts} {
		err := find()
		if err != nil && a.opts.Required {
			return fmt.Errorf("isolation is required: %w", err)
		}
		if err != nil {
			a.log.Warn("this machine does not allow all isolation", "error", err)
		}
	}
	return nil
}

// findGroups finds out whether processes can be held to their instance's size.
func (a *Agent) findGroups() (err error) {
	if a.groups, err = isolate.Find(); err != nil {
		return fmt.Errorf("game servers are not held to the size of their instance: %w", err)
	}
	return nil
}

// isolate starts a process in a jail: a group of its own, the user of its
// instance, and a folder of its own for temporary files.
func (i *instance) isolate(cmd *exec.Cmd, w protocol.Wish, id string, mounts []isolate.Mount) error {
	if i.own != nil {
		return nil
	}
	jail := isolate.Jail{Mounts: mounts}
	var err error
	if jail.User, err = i.user(); err != nil {
		return err
	}
	if jail.User > 0 && ownerOf(i.gameDir()) != jail.User {
		return errors.New("the build's tree is not handed over to the instance's user") // and could not be with processes of it there
	}
	if i.a.groups != nil {
		limits := isolate.Limits{MemoryMiB: w.MemoryMiB, CPUMillis: w.CPUMillis, Processes: maxProcesses}
		if jail.Group, err = i.a.groups.Make(id, limits); err != nil {
			return err
		}
	}
	if jail.Group == nil && jail.User == 0 {
		return nil
	}
	return jail.Wrap(cmd, i.a.opts.Launcher)
}

// leaveJail ends what is left of a process's group and removes its temporary
// files. It tells whether memory ran out in the group.
func (i *instance) leaveJail(id string) (oom bool) {
	if i.own != nil {
		return false
	}
	if i.a.groups != nil {
		group := i.a.groups.Get(id)
		oom = group.OOMKills() > 0
		if err := group.Remove(); err != nil {
			i.log.Warn("a process's group is left", "process_id", id, "error", err)
		}
	}
	if err := os.RemoveAll(i.tempDir(id)); err != nil {
		i.log.Warn("a process's temporary files are left", "process_id", id, "error", err)
	}
	return oom
}
