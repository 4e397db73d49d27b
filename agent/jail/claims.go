package jail

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/musterhq/muster/agent/supervise"
)

// claims record which folder each user belongs to, for all agents of this machine: a symbolic
// link, named after the user's number, points to the folder. A claim ends when that
// folder is removed, so that claims of agents that no longer exist need no cleanup.
type claims struct{ dir string }

func (c claims) lock() (interface{ Close() error }, error) {
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return nil, fmt.Errorf("claim users: %w", err)
	}
	lock, err := supervise.Lock(filepath.Join(c.dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("claim users: %w", err)
	}
	return lock, nil
}

// try returns an error if users cannot be claimed.
func (c claims) try() error {
	lock, err := c.lock()
	if err == nil {
		err = lock.Close()
	}
	return err
}

// take claims a user for a folder. It returns false if the user belongs to another
// folder that exists.
func (c claims) take(uid int, folder string) (bool, error) {
	lock, err := c.lock()
	if err != nil {
		return false, err
	}
	defer lock.Close()
	link := filepath.Join(c.dir, strconv.Itoa(uid))
	owner, err := os.Readlink(link)
	if err == nil && owner != folder {
		if _, err := os.Lstat(owner); !errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("claim user: %w", err)
	}
	if err := os.Symlink(folder, link); err != nil {
		return false, fmt.Errorf("claim user: %w", err)
	}
	return true, nil
}
