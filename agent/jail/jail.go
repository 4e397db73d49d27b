package jail

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/musterhq/muster/agent/disk"
	"github.com/musterhq/muster/agent/isolate"
)

// Jail isolates the processes of one instance. A nil Jail isolates nothing; it is used
// for programs that their developer runs.
type Jail struct {
	j   *Jailer
	dir string // the instance's
	log *slog.Logger
}

// For returns the jail of the instance with a folder.
func (j *Jailer) For(dir string, log *slog.Logger) *Jail { return &Jail{j, dir, log} }

// Process describes a process to be started in a jail.
type Process struct {
	ID     string
	Tree   string           // the build's, its working directory
	SDKURL string           // where it connects
	Uses   []netip.AddrPort // services of this machine that it may use besides those of Jailer.Allow
	Among  int              // id of a process of the instance among whose processes it runs; 0: among its own
	isolate.Limits
}

// Start starts a process with its own group, the instance's user, and its own folder
// for temporary files.
func (l *Jail) Start(cmd *exec.Cmd, p Process) error {
	if l == nil {
		return cmd.Start()
	}
	temp, mounts, err := l.makeTemp(p.ID)
	if err != nil {
		return err
	}
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		cmd.Env = append(cmd.Env, name+"="+temp) // the last value wins
	}
	jail := isolate.Jail{Mounts: mounts}
	if jail.User, err = l.user(); err != nil {
		return err
	}
	if jail.User > 0 && ownerOf(p.Tree) != jail.User {
		return errors.New("the build's tree is not handed over to the instance's user") // and cannot be now: processes of it are running
	}
	if p.Among > 0 && l.j.apart {
		if jail.Among, err = isolate.NamespaceOf(p.Among, jail.User); err != nil {
			return fmt.Errorf("run among the processes of another one: %w", err)
		}
		defer jail.Among.Close()
	}
	if l.j.game {
		jail.Game = p.Tree
	}
	p.Processes = maxProcesses
	if jail.Group, err = l.j.makeGroup(p.ID, p.Limits, p.SDKURL, p.Uses); err != nil {
		return err
	}
	return l.j.confined(jail, l.dir).Start(cmd, l.j.opts.Launcher)
}

// End ends the processes left in a process's group and removes its temporary files. It
// reports whether the group ran out of memory.
func (l *Jail) End(id string) (oom bool) {
	if l == nil {
		return false
	}
	if l.j.groups != nil {
		group := l.j.groups.Get(id)
		oom = group.OOMKills() > 0
		if err := group.Remove(); err != nil {
			l.log.Warn("a process's group is left", "process_id", id, "error", err)
		}
	}
	if err := os.RemoveAll(l.tempDir(id)); err != nil {
		l.log.Warn("a process's temporary files are left", "process_id", id, "error", err)
	}
	return oom
}

// Settle makes the instance's user the owner of the folders of the build's tree; the
// files, which other instances share, stay the agent's and read-only. Other users have
// no access.
func (l *Jail) Settle(tree string) error {
	uid, err := l.user()
	if uid == 0 || err != nil {
		return err
	}
	logs := filepath.Join(l.dir, "logs") // output stays the agent's; each process has a folder below it
	return errors.Join(giveFolders(tree, uid), os.MkdirAll(logs, 0o755), os.Chmod(logs, 0o755), os.Chown(l.dir, 0, uid), os.Chmod(l.dir, 0o750))
}

// Give makes the instance's user the owner of a folder that was created for a process.
func (l *Jail) Give(dir string) error {
	uid, err := l.user()
	if uid == 0 || err != nil {
		return err
	}
	return os.Chown(dir, uid, uid)
}

// Dismiss ends all processes of the instance's user and removes its files from
// world-writable folders.
func (l *Jail) Dismiss() {
	if l == nil || l.j.users == nil {
		return
	}
	uid, err := readUser(l.dir)
	if err != nil || !l.j.users.has(uid) {
		return
	}
	if err := endUser(uid); err != nil {
		l.log.Warn("something of the instance's user is left", "user", uid, "error", err)
	}
}

// userFile is the file with the number of an instance's user, in the instance's folder.
const userFile = "user"

// user returns the number of the instance's user, or 0 if it has none. The
// first call picks one that no other instance on this machine has. An instance whose
// files belong to a user never runs as another: the former user could have changed
// them.
func (l *Jail) user() (int, error) {
	if l == nil {
		return 0, nil
	}
	l.j.mu.Lock()
	defer l.j.mu.Unlock()
	uid, err := readUser(l.dir)
	switch {
	case err != nil:
		return 0, err
	case uid > 0 && l.j.users == nil:
		return 0, fmt.Errorf("the instance has user %d to run as, which this agent cannot become now; its log says why", uid)
	case uid > 0 || l.j.users == nil:
		return uid, nil
	}
	if uid, err = l.j.freeUser(l.dir); err != nil {
		return 0, err
	}
	return uid, disk.Write(filepath.Join(l.dir, userFile), uid)
}

// Group returns the id of the group that only the instance's user is in, or 0 if the
// instance has no user of its own.
func (l *Jail) Group() (int, error) { return l.user() }

// tempDir returns a process's own folder for temporary files. It is removed when the
// process ends.
func (l *Jail) tempDir(id string) string { return filepath.Join(l.dir, "temp-"+id) }

// makeTemp creates the process's folder for temporary files and returns the path at which
// the process sees it: the usual one, if the machine supports that.
func (l *Jail) makeTemp(id string) (at string, mounts []isolate.Mount, err error) {
	dir := l.tempDir(id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, fmt.Errorf("make folder for temporary files: %w", err)
	}
	if err := l.Give(dir); err != nil || !l.j.apart {
		return dir, nil, err
	}
	return sharedTemp, []isolate.Mount{{From: dir, At: sharedTemp}}, nil
}
