package isolate

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// confine does what an order asks for besides groups, for what runs after it in
// this process: its own view of some folders first, since that needs our rights,
// then another user.
func (o *order) confine() error {
	runtime.LockOSThread() // a view of folders is the thread's, and goes with exec
	if len(o.Mounts) > 0 {
		if err := o.mount(); err != nil {
			return err
		}
	}
	if o.User == 0 {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new rights: %w", err)
	}
	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("leave groups: %w", err)
	}
	if err := syscall.Setresgid(o.User, o.User, o.User); err != nil {
		return fmt.Errorf("become group %d: %w", o.User, err)
	}
	if err := syscall.Setresuid(o.User, o.User, o.User); err != nil {
		return fmt.Errorf("become user %d: %w", o.User, err)
	}
	return nil
}

// mount gives the process folders of its own in place of those that all share.
func (o *order) mount() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("see folders by itself: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("see folders by itself: %w", err)
	}
	for _, m := range o.Mounts {
		if err := unix.Mount(m.From, m.At, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("have %s at %s: %w", m.From, m.At, err)
		}
		if err := unix.Mount("", m.At, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
			return fmt.Errorf("have %s at %s: %w", m.From, m.At, err)
		}
	}
	return nil
}

// reach tells whether the process gets at files, as the user that it is.
func reach(paths []string) error {
	for _, path := range paths {
		if err := unix.Access(path, unix.X_OK); err != nil {
			return &os.PathError{Op: "reach", Path: path, Err: err}
		}
	}
	return nil
}
