package agent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/isolate"
	"github.com/musterhq/muster/hosts/protocol"
)

// maxProcesses bounds the processes and threads of a game server: far more than games
// need and far fewer than would stop a machine.
const maxProcesses = 4096

// isolation is how processes of builds are isolated on this machine. The zero value
// means not at all.
type isolation struct {
	groups *isolate.Groups // limit them to the size of their instance; nil: no limits
	users  *Users          // each instance has its own user; nil: they run as the agent's
	apart  bool            // they see only their own processes and few folders of others
	filter bool            // some system calls are refused
	egress bool            // they can send only to networks beyond the machine
}

// ErrIsolation is returned if isolation is required and this machine does not support
// all of it.
var ErrIsolation = errors.New("isolation is required")

// findIsolation determines which parts of isolation this machine supports, and logs
// them. It fails if isolation is required and a part is missing.
func (a *Agent) findIsolation() error {
	if a.opts.Launcher == "" || a.opts.Unconfined {
		return nil
	}
	var missing []string
	for _, lack := range a.tryIsolation() {
		missing = append(missing, lack.Cause)
	}
	if len(missing) > 0 && a.opts.Required {
		return fmt.Errorf("%w: %s", ErrIsolation, strings.Join(missing, "; "))
	}
	a.opts.Facts.Isolation = a.held()
	if a.opts.Users.From == 0 && len(missing) == 0 {
		return nil
	}
	a.log.Info("game servers are held to", "isolation", strings.Join(a.opts.Facts.Isolation, ", "))
	if len(missing) > 0 {
		a.log.Warn("this machine does not allow all isolation: host only builds that you trust", "missing", strings.Join(missing, "; "))
	}
	return nil
}

// Lack is a part of isolation that is not available.
type Lack struct {
	Cause  string // what is not restricted, and why
	Remedy string // what the operator can do
}

// Isolation tries out which parts of isolation an agent with these options could use
// when run by this user on this machine. It returns the available ones, by their names
// in protocol.Facts, and those that are not. Options need Root, Launcher, Users and
// UserClaims.
func Isolation(o Options) (held []string, lacks []Lack) {
	a := &Agent{opts: o.withDefaults(), guests: map[int]bool{}}
	lacks = a.tryIsolation()
	return a.held(), lacks
}

// tryIsolation determines which parts of isolation this machine supports, and returns
// those that are missing.
func (a *Agent) tryIsolation() (lacks []Lack) {
	try := func(find func() error, remedy string) {
		if err := find(); err != nil {
			lacks = append(lacks, Lack{err.Error(), remedy})
		}
	}
	root := func(remedy string) string {
		if os.Geteuid() > 0 { // -1 on systems without root
			return "run the agent as root"
		}
		return remedy
	}
	try(a.findGroups, root("let the agent write to /sys/fs/cgroup: in a container, mount it writable and run it privileged"))
	if a.opts.Users.From > 0 {
		try(a.findUsers, root("let the agent make namespaces and mounts (CAP_SYS_ADMIN): run a container privileged, and take RestrictNamespaces and the like out of its systemd unit"))
		try(a.findFilter, "use Linux on amd64 or arm64, with a kernel that takes seccomp filters")
		try(a.findEgress, root("mount control groups of version 2, beside version 1 if need be, on a kernel of 5.1 or later, and let the agent load BPF programs (CAP_BPF)"))
	}
	return lacks
}

// held returns the names of the parts of isolation in use, for people and Muster.
func (a *Agent) held() []string {
	var all []string
	for _, h := range []struct {
		name string
		is   bool
	}{
		{protocol.IsolationLimits, a.groups != nil}, {protocol.IsolationUsers, a.users != nil}, {protocol.IsolationProcesses, a.apart},
		{protocol.IsolationSystemCalls, a.filter}, {protocol.IsolationEgress, a.egress},
	} {
		if h.is {
			all = append(all, h.name)
		}
	}
	return all
}

// findGroups determines whether processes can be limited to their instance's size.
func (a *Agent) findGroups() error {
	groups, err := isolate.Find()
	if err == nil {
		err = try(groups, func(*isolate.Group) error { return nil }) // the folder may exist but belong to another user
	}
	if err != nil {
		return fmt.Errorf("game servers are not held to the size of their instance: %w", err)
	}
	a.groups = groups
	return nil
}

// try calls do with a temporary group.
func try(groups *isolate.Groups, do func(*isolate.Group) error) error {
	group, err := groups.Make("probe-"+strconv.Itoa(os.Getpid()), isolate.Limits{})
	if err != nil {
		return err
	}
	err = do(group)
	if removed := group.Remove(); err == nil {
		err = removed
	}
	return err
}

// findFilter determines whether system calls can be filtered.
func (a *Agent) findFilter() error {
	if err := (isolate.Jail{Filter: true}).Try(a.opts.Launcher); err != nil {
		return fmt.Errorf("game servers may use all system calls: %w", err)
	}
	a.filter = true
	return nil
}

// hidden are folders of the machine that game servers must not see. Sockets of the
// machine's services are below /run.
var hidden = []string{"/root", "/home", "/boot", "/run", "/var/log", "/var/mail", "/var/spool", "/var/backups"}

// The folders that processes have private versions of.
const (
	sharedTemp   = "/tmp"
	sharedMemory = "/dev/shm" // not on all machines
)

// confined returns a jail with the restrictions of all processes of builds added;
// folder is their working directory.
func (a *Agent) confined(j isolate.Jail, folder string) isolate.Jail {
	j.Filter = a.filter
	if !a.apart {
		return j
	}
	j.Apart = true
	if _, err := os.Stat(sharedMemory); err == nil {
		j.Mounts = append(j.Mounts, isolate.Mount{At: sharedMemory})
	}
	j.Hide = append([]string{a.opts.Root, a.opts.UserClaims}, hidden...)
	j.Keep = append([]string{folder, a.opts.Launcher}, resolverFiles()...)
	return j
}

// isolate starts a process in a jail: its own group, the user of its instance, and its
// own folder for temporary files.
func (i *instance) isolate(cmd *exec.Cmd, w protocol.Desired, id string, mounts []isolate.Mount) error {
	jail := isolate.Jail{Mounts: mounts}
	var err error
	if jail.User, err = i.user(); err != nil {
		return err
	}
	if jail.User > 0 && ownerOf(i.gameDir()) != jail.User {
		return errors.New("the build's tree is not handed over to the instance's user") // and cannot be now: processes of it are running
	}
	limits := isolate.Limits{MemoryMiB: w.MemoryMiB, CPUMillis: w.CPUMillis, Processes: maxProcesses}
	if jail.Group, err = i.a.makeGroup(id, limits, w.SDKURL); err != nil {
		return err
	}
	return i.a.confined(jail, i.dir).Start(cmd, i.a.opts.Launcher)
}

// makeGroup creates the group of a process, or returns nil if groups are not used.
// sdkURL is where the process connects.
func (a *Agent) makeGroup(name string, limits isolate.Limits, sdkURL string) (*isolate.Group, error) {
	if a.groups == nil {
		return nil, nil
	}
	group, err := a.groups.Make(name, limits)
	if err != nil || !a.egress {
		return group, err
	}
	return group, group.Restrict(a.egressTo(sdkURL))
}

// leaveJail ends the processes left in a process's group and removes its temporary
// files. It reports whether the group ran out of memory.
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
