package jail

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/musterhq/muster/agent/isolate"
	"github.com/musterhq/muster/hosts/protocol"
)

// Options configure a Jailer.
type Options struct {
	Root     string         // the agent's folder
	Launcher string         // a program whose main function calls isolate.Enter
	Users    Users          // that instances run as, one each; if zero, all run as the agent's user
	Claims   string         // folder in which all agents of this machine record the users they use
	Egress   []netip.Prefix // networks to which processes may send although isolation forbids them

	// KeepRootOut refuses to run install scripts as root.
	KeepRootOut bool
}

// Jailer isolates the processes of builds on this machine. It isolates nothing until Find
// is called.
type Jailer struct {
	opts     Options
	claims   claims
	groups   *isolate.Groups  // limit processes to the size of their instance; nil: no limits
	users    *Users           // each instance has its own; nil: they run as the agent's
	apart    bool             // they see only their own processes and few folders of others
	filter   bool             // some system calls are refused
	game     bool             // they see their build at isolate.GameFolder
	egress   bool             // they can send only to networks beyond the machine, and to services
	services []netip.AddrPort // of this machine

	mu     sync.Mutex   // guards the assignment of users
	guests map[int]bool // users of running install scripts
}

// New returns a Jailer that isolates nothing yet.
func New(o Options) *Jailer {
	return &Jailer{opts: o, claims: claims{o.Claims}, guests: map[int]bool{}}
}

// Allow lets processes that are started from now on use services of this machine. It must
// not be called while any is being started.
func (j *Jailer) Allow(services ...netip.AddrPort) { j.services = append(j.services, services...) }

// maxProcesses bounds the processes and threads of a game server: far more than games
// need and far fewer than would stop a machine.
const maxProcesses = 4096

// Lack is a part of isolation that is not available.
type Lack struct {
	Cause  string // what is not restricted, and why
	Remedy string // what the operator can do
}

// Find determines which parts of isolation this machine supports, uses them from then
// on, and returns those that are missing. It is called once, before anything is
// started.
func (j *Jailer) Find() (lacks []Lack) {
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
	try(j.findGroups, root("let the agent write to /sys/fs/cgroup: in a container, mount it writable and run it privileged"))
	if j.opts.Users.From > 0 {
		try(j.findUsers, root("let the agent make namespaces and mounts (CAP_SYS_ADMIN): run a container privileged, and take RestrictNamespaces and the like out of its systemd unit"))
		try(j.findFilter, "use Linux on amd64 or arm64, with a kernel that takes seccomp filters")
		try(j.findEgress, root("mount control groups of version 2, beside version 1 if need be, on a kernel of 5.1 or later, and let the agent load BPF programs (CAP_BPF)"))
	}
	return lacks
}

// GameFolder determines whether processes can see their build at isolate.GameFolder, where
// Amazon's hosts have it, and has them see it from then on. It is called after Find.
func (j *Jailer) GameFolder() error {
	err := errors.New("the agent is not root")
	if os.Geteuid() == 0 {
		err = j.tryGame()
	}
	if err != nil {
		return fmt.Errorf("%s does not exist for game servers and install scripts: %w", isolate.GameFolder, err)
	}
	j.game = true
	return nil
}

func (j *Jailer) tryGame() error {
	folder := filepath.Join(j.opts.Root, "instances")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	jail := isolate.Jail{Game: folder}
	if j.users != nil {
		jail.User = j.users.From
	}
	return j.confined(jail, folder).Try(j.opts.Launcher, isolate.GameFolder)
}

// Held returns the parts of isolation in use, by their names in protocol.Facts.
func (j *Jailer) Held() []string {
	var all []string
	for _, h := range []struct {
		name string
		is   bool
	}{
		{protocol.IsolationLimits, j.groups != nil}, {protocol.IsolationUsers, j.users != nil}, {protocol.IsolationProcesses, j.apart},
		{protocol.IsolationSystemCalls, j.filter}, {protocol.IsolationEgress, j.egress},
	} {
		if h.is {
			all = append(all, h.name)
		}
	}
	return all
}

// findGroups determines whether processes can be limited to their instance's size.
func (j *Jailer) findGroups() error {
	groups, err := isolate.Find()
	if err == nil {
		err = try(groups, func(*isolate.Group) error { return nil }) // the folder may exist but belong to another user
	}
	if err != nil {
		return fmt.Errorf("game servers are not held to the size of their instance: %w", err)
	}
	j.groups = groups
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

// findUsers determines whether instances can have their own users, and whether
// processes can be kept from seeing the machine's other processes and folders.
func (j *Jailer) findUsers() error {
	u := j.opts.Users
	err := errors.New("the agent is not root")
	if os.Geteuid() == 0 {
		err = j.claims.try()
	}
	if err != nil {
		return fmt.Errorf("game servers run as the agent's user, and get at its credential: %w", err)
	}
	folder := filepath.Join(j.opts.Root, "instances")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make folder of instances: %w", err)
	}
	// The way to a root below /tmp is made in the folder that takes the place of /tmp.
	temp := filepath.Join(j.opts.Root, "trial")
	if err := os.MkdirAll(temp, 0o755); err != nil {
		return fmt.Errorf("make folder of the trial: %w", err)
	}
	defer os.RemoveAll(temp)
	j.apart = true
	whole := j.confined(isolate.Jail{User: u.From, Mounts: []isolate.Mount{{From: temp, At: sharedTemp}}}, folder)
	if err = whole.Try(j.opts.Launcher, folder, j.opts.Launcher); err == nil {
		j.users = &u
		return nil
	}
	j.apart = false
	if err := (isolate.Jail{User: u.From}).Try(j.opts.Launcher, folder, j.opts.Launcher); err != nil {
		return fmt.Errorf("game servers run as the agent's user, and get at its credential: %w", err)
	}
	j.users = &u
	return fmt.Errorf("game servers see the machine's processes, its folders and its temporary files: %w", err)
}

// findFilter determines whether system calls can be filtered.
func (j *Jailer) findFilter() error {
	if err := (isolate.Jail{Filter: true}).Try(j.opts.Launcher); err != nil {
		return fmt.Errorf("game servers may use all system calls: %w", err)
	}
	j.filter = true
	return nil
}

// findEgress determines whether the destinations of processes can be restricted.
func (j *Jailer) findEgress() error {
	err := isolate.ErrUnavailable
	if j.groups != nil {
		err = try(j.groups, func(g *isolate.Group) error { return g.Restrict(j.egressTo("", nil)) })
	}
	if err != nil {
		return fmt.Errorf("game servers get at services of this machine and at addresses where clouds keep credentials: %w", err)
	}
	j.egress = true
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
func (j *Jailer) confined(jail isolate.Jail, folder string) isolate.Jail {
	jail.Filter = j.filter
	if !j.apart {
		return jail
	}
	jail.Apart = true
	if _, err := os.Stat(sharedMemory); err == nil {
		jail.Mounts = append(jail.Mounts, isolate.Mount{At: sharedMemory})
	}
	jail.Hide = append([]string{j.opts.Root, j.opts.Claims}, hidden...)
	jail.Keep = append([]string{folder, j.opts.Launcher}, resolverFiles()...)
	return jail
}

// makeGroup creates the group of a process, or returns nil if groups are not used.
// sdkURL is where the process connects.
func (j *Jailer) makeGroup(name string, limits isolate.Limits, sdkURL string, uses []netip.AddrPort) (*isolate.Group, error) {
	if j.groups == nil {
		return nil, nil
	}
	group, err := j.groups.Make(name, limits)
	if err != nil || !j.egress {
		return group, err
	}
	return group, group.Restrict(j.egressTo(sdkURL, uses))
}
