//go:build unix

package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// credential returns the user to run the server as; nil means the current one.
func credential() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("root needs a user postgres to run the server: %w", err)
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// own makes that user the owner of the directory.
func own(dir string) error {
	c, err := credential()
	if c == nil {
		return err
	}
	return os.Chown(dir, int(c.Uid), int(c.Gid))
}

func command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	c, _ := credential() // own has reported the error
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c}
	return cmd
}
