package jail

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/musterhq/muster/agent/isolate"
)

// guest is the user of one install script. While the script runs, the user owns the
// build's folder and no other file of the agent.
type guest struct {
	j     *Jailer
	dir   string // the build's
	temp  string // for temporary files
	user  int    // 0 if scripts run as the agent's user
	group *isolate.Group
}

// Staging returns the folder of builds being installed. Unlike the cache, it is
// accessible to other users.
func (j *Jailer) Staging() string { return filepath.Join(j.opts.Root, "staging") }

// Guest starts an install script as a guest (install.Options.Guest).
func (j *Jailer) Guest(cmd *exec.Cmd, dir string) (dismiss func() error, err error) {
	g := &guest{j: j, dir: dir, temp: dir + ".temp"}
	if err := g.enter(cmd); err != nil {
		return nil, errors.Join(err, g.dismiss())
	}
	return g.dismiss, nil
}

func (g *guest) enter(cmd *exec.Cmd) error {
	jail := isolate.Jail{}
	if g.j.game {
		jail.Game = g.dir
	}
	if g.j.users == nil && g.j.opts.KeepRootOut && os.Geteuid() == 0 {
		return errRootScript
	}
	if g.j.users != nil {
		if err := g.takeUser(); err != nil {
			return err
		}
		jail.User = g.user
	}
	if err := g.makeTemp(cmd, &jail); err != nil {
		return err
	}
	var err error
	if g.group, err = g.j.makeGroup(groupFor(g.dir), isolate.Limits{Processes: maxProcesses}, "", nil); err != nil {
		return err
	}
	jail.Group = g.group
	return g.j.confined(jail, g.dir).Start(cmd, g.j.opts.Launcher)
}

var errRootScript = errors.New("install.sh would run as root and could change this machine, which does not allow to isolate it: " +
	"start the server as another user, or as root with the right to make namespaces and mounts (CAP_SYS_ADMIN, a privileged container)")

// groupFor returns the name of the control group of the script that runs in a folder.
// It is unique to the folder, since other agents of this machine share the groups.
func groupFor(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return "install-" + hex.EncodeToString(sum[:8])
}

// takeUser picks a user and makes it the owner of the build's folder and its files.
func (g *guest) takeUser() error {
	g.j.mu.Lock()
	defer g.j.mu.Unlock()
	uid, err := g.j.freeUser(g.dir)
	if err != nil {
		return err
	}
	g.j.guests[uid], g.user = true, uid
	return handOver(g.dir, uid, func(string, fs.DirEntry) (bool, error) { return true, nil })
}

// makeTemp creates the script's folder for temporary files, mounts it at the usual path
// if the machine supports that, and sets the build's folder as the script's home.
func (g *guest) makeTemp(cmd *exec.Cmd, jail *isolate.Jail) error {
	if err := os.MkdirAll(g.temp, 0o700); err != nil {
		return err
	}
	if g.user > 0 {
		if err := os.Chown(g.temp, g.user, g.user); err != nil {
			return err
		}
	}
	at := g.temp
	if g.j.apart {
		at = sharedTemp
		jail.Mounts = []isolate.Mount{{From: g.temp, At: at}}
	}
	cmd.Env = append(cmd.Env, "HOME="+g.dir, "TMPDIR="+at, "TMP="+at, "TEMP="+at)
	return nil
}

// dismiss ends the script's remaining processes and makes the agent the owner of the
// build's folder.
func (g *guest) dismiss() error {
	var errs []error
	if g.group != nil {
		errs = append(errs, g.group.Remove())
	}
	if g.user > 0 {
		errs = append(errs, endUser(g.user))
		if errors.Join(errs...) == nil { // otherwise a remaining process could change it at the same time
			errs = append(errs, takeBack(g.dir, g.user))
		}
		g.j.mu.Lock()
		delete(g.j.guests, g.user)
		g.j.mu.Unlock()
	}
	return errors.Join(append(errs, os.RemoveAll(g.temp))...)
}

// takeBack makes the agent the owner of a folder that no other process uses any more.
// It fails if a file in it is not the user's: such a file is a link to a file elsewhere,
// which would become readable by all.
func takeBack(dir string, uid int) error {
	if ownerOf(dir) != uid {
		return fmt.Errorf("%s is not the user's any more", dir)
	}
	return handOver(dir, os.Geteuid(), func(path string, _ fs.DirEntry) (bool, error) {
		if ownerOf(filepath.Join(dir, path)) != uid {
			return false, fmt.Errorf("%s is a file from elsewhere", path)
		}
		return true, nil
	})
}

// ClearStaging removes unfinished installations of a former agent, and ends their
// scripts, which may have outlived it.
func (j *Jailer) ClearStaging() error {
	entries, err := os.ReadDir(j.Staging())
	if err != nil {
		return fmt.Errorf("clear former installations: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(j.Staging(), e.Name())
		if uid := ownerOf(path); j.users != nil && j.users.has(uid) {
			err = errors.Join(err, endUser(uid))
		}
		if j.groups != nil {
			err = errors.Join(err, j.groups.Get(groupFor(path)).Remove())
		}
		err = errors.Join(err, os.RemoveAll(path))
	}
	if err != nil {
		return fmt.Errorf("clear former installations: %w", err)
	}
	return nil
}
