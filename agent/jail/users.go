package jail

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/musterhq/muster/agent/disk"
	"github.com/musterhq/muster/agent/isolate"
)

// Users is a range of user numbers (uids) for instances, one each. Agents on one machine
// may share it; the machine's other users should not be in it.
type Users struct{ From, To int }

func (u Users) has(uid int) bool { return uid >= u.From && uid <= u.To }

// DefaultUsers are numbers that a machine's own users do not have.
var DefaultUsers = Users{1900000000, 1900009999}

// freeUser returns an unused user, claimed for a folder. The caller must
// hold mu.
func (j *Jailer) freeUser(folder string) (int, error) {
	taken := maps.Clone(j.guests)
	instances, err := filepath.Glob(filepath.Join(j.opts.Root, "instances", "*"))
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
	return j.nextUser(taken, folder)
}

// nextUser returns the next unused number after the last one. It cycles through the range,
// so that files that a user left on the machine do not soon get a new owner. The caller
// must hold mu.
func (j *Jailer) nextUser(taken map[int]bool, folder string) (int, error) {
	last := filepath.Join(j.opts.Root, "last-user")
	count := j.users.To - j.users.From + 1
	uid := j.users.To // the first is next
	var kept int
	err := disk.Read(last, &kept)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("read the last user: %w", err)
	}
	if j.users.has(kept) {
		uid = kept
	}
	for range count {
		if uid++; !j.users.has(uid) {
			uid = j.users.From
		}
		if taken[uid] || len(isolate.ProcessesOf(uid)) > 0 {
			continue
		}
		ours, err := j.claims.take(uid, folder)
		if err != nil {
			return 0, err
		}
		if ours {
			return uid, disk.Write(last, uid)
		}
	}
	return 0, fmt.Errorf("no user is left of %d to %d: this machine has more instances than users", j.users.From, j.users.To)
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

// readUser reads the number in an instance's folder, or 0 if it has none.
func readUser(dir string) (uid int, err error) {
	err = disk.Read(filepath.Join(dir, userFile), &uid)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the user of an instance: %w", err)
	}
	return uid, nil
}

// giveFolders makes a user the owner of the folders of a tree, unless it already is. The
// top folder is handed over last, so its owner shows whether all folders were.
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
