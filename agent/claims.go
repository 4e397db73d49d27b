package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/musterhq/muster/agent/supervise"
)

// claims tell the agents of this machine which user is whose: a link by the user's
// number that leads to the folder of who has it. With that folder the claim is over,
// so that nothing of an agent that is no more has to be cleared up.
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

// take claims a user for who has a folder; false where it is somebody else's.
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
