package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/musterhq/muster/agent/isolate"
)

// Users is a range of numbers for the users that instances run as, one each. Agents on
// one machine may share it; the machine's other users should not be in it.
type Users struct{ From, To int }

func (u Users) has(uid int) bool { return uid >= u.From && uid <= u.To }

// DefaultUsers are numbers that a machine's own users do not have.
var DefaultUsers = Users{1900000000, 1900009999}

// findUsers determines whether instances can have their own users, and whether
// processes can be kept from seeing the machine's other processes and folders.
func (a *Agent) findUsers() error {
	u := a.opts.Users
	err := errNotRoot
	if os.Geteuid() == 0 {
		err = a.tryClaims()
	}
	if err != nil {
		return fmt.Errorf("game servers run as the agent's user, and get at its credential: %w", err)
	}
	folder := filepath.Join(a.opts.Root, "instances")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make folder of instances: %w", err)
	}
	a.apart = true
	whole := a.confined(isolate.Jail{User: u.From, Mounts: []isolate.Mount{{From: folder, At: sharedTemp}}}, folder)
	if err = whole.Try(a.opts.Launcher, folder, a.opts.Launcher); err == nil {
		a.users = &u
		return nil
	}
	a.apart = false
	if err := (isolate.Jail{User: u.From}).Try(a.opts.Launcher, folder, a.opts.Launcher); err != nil {
		return fmt.Errorf("game servers run as the agent's user, and get at its credential: %w", err)
	}
	a.users = &u
	return fmt.Errorf("game servers see the machine's processes, its folders and its temporary files: %w", err)
}

var errNotRoot = errors.New("the agent is not root")

// tryClaims returns an error if users cannot be claimed.
func (a *Agent) tryClaims() error {
	lock, err := a.claims().lock()
	if err != nil {
		return err
	}
	return lock.Close()
}

func (a *Agent) claims() claims { return claims{a.opts.UserClaims} }

// userFile is the file with the number of an instance's user, in the instance's folder.
const userFile = "user"

// user returns the number of the instance's user, 0 if it has none of its own. The
// first call picks one that no other instance on this machine has. An instance whose
// files belong to a user never runs as another: the former user could have changed
// them.
func (i *instance) user() (int, error) {
	if i.own != nil {
		return 0, nil
	}
	i.a.userMutex.Lock()
	defer i.a.userMutex.Unlock()
	uid, err := readUser(i.dir)
	switch {
	case err != nil:
		return 0, err
	case uid > 0 && i.a.users == nil:
		return 0, fmt.Errorf("the instance has user %d to run as, which this agent cannot become now; its log says why", uid)
	case uid > 0 || i.a.users == nil:
		return uid, nil
	}
	if uid, err = i.a.freeUser(i.dir); err != nil {
		return 0, err
	}
	return uid, writeJSON(filepath.Join(i.dir, userFile), uid)
}

// freeUser returns an unused user, claimed for the owner of a folder. The caller must
// hold userMutex.
func (a *Agent) freeUser(folder string) (int, error) {
	taken := maps.Clone(a.guests)
	instances, err := filepath.Glob(filepath.Join(a.opts.Root, "instances", "*"))
	if err != nil {
		return 0, err
	}
	for _, dir := range instances {
		uid, err := readUser(dir)
		if err != nil {
			return 0, err
		}
		taken[uid] = true
	}
	return a.nextUser(taken, folder)
}

// nextUser returns the next number after the last one, cycling through the range, so
// that files which a user left on the machine do not soon get a new owner. A number in
// use is skipped. The caller must hold userMutex.
func (a *Agent) nextUser(taken map[int]bool, folder string) (int, error) {
	last := filepath.Join(a.opts.Root, "last-user")
	count := a.users.To - a.users.From + 1
	uid := a.users.To // the first is next
	var kept int
	err := readJSON(last, &kept)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("read the last user: %w", err)
	}
	if a.users.has(kept) {
		uid = kept
	}
	for range count {
		if uid++; !a.users.has(uid) {
			uid = a.users.From
		}
		if taken[uid] || len(isolate.ProcessesOf(uid)) > 0 {
			continue
		}
		ours, err := a.claims().take(uid, folder)
		if err != nil {
			return 0, err
		}
		if ours {
			return uid, writeJSON(last, uid)
		}
	}
	return 0, fmt.Errorf("no user is left of %d to %d: this machine has more instances than users", a.users.From, a.users.To)
}

// dismiss ends all processes of the instance's user and removes its files from
// world-writable folders.
func (i *instance) dismiss() {
	uid, err := readUser(i.dir)
	if err != nil || i.own != nil || i.a.users == nil || !i.a.users.has(uid) {
		return
	}
	if err := endUser(uid); err != nil {
		i.log.Warn("something of the instance's user is left", "user", uid, "error", err)
	}
}

// endUser ends every process of a user and removes its files from world-writable
// folders.
func endUser(uid int) error {
	errs := []error{isolate.KillUser(uid, 2*time.Second)}
	for _, dir := range []string{sharedMemory, "/var/tmp", os.TempDir()} {
		errs = append(errs, sweep(dir, uid))
	}
	return errors.Join(errs...)
}

// sweep removes what belongs to a user in a world-writable folder.
func sweep(dir string, uid int) error {
	top, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer top.Close()
	entries, err := fs.ReadDir(top.FS(), ".")
	for _, e := range entries {
		if ownerOf(filepath.Join(dir, e.Name())) == uid {
			err = errors.Join(err, top.RemoveAll(e.Name()))
		}
	}
	return err
}

// readUser reads the number in an instance's folder, 0 for none.
func readUser(dir string) (uid int, err error) {
	err = readJSON(filepath.Join(dir, userFile), &uid)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the user of an instance: %w", err)
	}
	return uid, nil
}

// settleIn makes the instance's user the owner of the folders of the build's tree; the
// files, which other instances share, stay the agent's and read-only. Other users have
// no access.
func (i *instance) settleIn() error {
	uid, err := i.user()
	if uid == 0 || err != nil {
		return err
	}
	logs := filepath.Join(i.dir, "logs") // output stays the agent's; each process has a folder below it
	return errors.Join(giveFolders(i.gameDir(), uid), os.MkdirAll(logs, 0o755), os.Chmod(logs, 0o755), os.Chown(i.dir, 0, uid), os.Chmod(i.dir, 0o750))
}

// giveFolders makes a user the owner of the folders of a tree, once: the top folder is
// handed over last, so its owner says whether all are.
func giveFolders(tree string, uid int) error {
	if ownerOf(tree) == uid {
		return nil
	}
	return handOver(tree, uid, func(_ string, d fs.DirEntry) (bool, error) { return d.IsDir(), nil })
}

// handOver makes a user the owner of a folder and of everything in it that is picked. A
// process working there could create links in the agent's way, so the folder is closed
// to others until the end.
func handOver(dir string, uid int, picked func(path string, d fs.DirEntry) (bool, error)) error {
	if err := errors.Join(os.Lchown(dir, os.Geteuid(), os.Getegid()), os.Chmod(dir, 0o700)); err != nil {
		return err
	}
	top, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer top.Close()
	err = fs.WalkDir(top.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		if yes, err := picked(path, d); !yes || err != nil {
			return err
		}
		return top.Lchown(path, uid, uid)
	})
	if err != nil {
		return err
	}
	return top.Chown(".", uid, uid)
}

// give makes the instance's user the owner of a folder that was created for a process.
func (i *instance) give(dir string) error {
	uid, err := i.user()
	if uid == 0 || err != nil {
		return err
	}
	return os.Chown(dir, uid, uid)
}

// tempDir is a process's own folder for temporary files. It is removed with the
// process.
func (i *instance) tempDir(id string) string { return filepath.Join(i.dir, "temp-"+id) }

// makeTemp creates the process's folder for temporary files and returns where the
// process sees it: at the usual path, if the machine supports that.
func (i *instance) makeTemp(id string) (at string, mounts []isolate.Mount, err error) {
	dir := i.tempDir(id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, fmt.Errorf("make folder for temporary files: %w", err)
	}
	if err := i.give(dir); err != nil || !i.a.apart {
		return dir, nil, err
	}
	return sharedTemp, []isolate.Mount{{From: dir, At: sharedTemp}}, nil
}
