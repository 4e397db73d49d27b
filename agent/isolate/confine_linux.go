package isolate

import (
	"fmt"
	"os"
	"runtime"

	"syscall"

	"golang.org/x/sys/unix"
)

// confine does what an order asks for besides groups, for what runs after it in
// this process: its own view of the machine first, since that needs our rights,
// then another user, then fewer system calls.
func (o *order) confine() error {
	runtime.LockOSThread() // namespaces and filters are the thread's, and go with exec
	if len(o.Mounts) > 0 || len(o.Hide) > 0 || o.Apart {
		if err := o.separate(); err != nil {
			return err
		}
	}
	if o.User != 0 || o.Filter {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("give up new rights: %w", err)
		}
	}
	if err := o.changeUser(); err != nil {
		return err
	}
	if !o.Filter {
		return nil
	}
	if err := filter(o.Apart); err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	return nil
}

func (o *order) changeUser() error {
	if o.User == 0 {
		return nil
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

// reach reports whether the process gets at files, as the user that it is.
func reach(paths []string) error {
	for _, path := range paths {
		if err := unix.Access(path, unix.X_OK); err != nil {
			return &os.PathError{Op: "reach", Path: path, Err: err}
		}
	}
	return nil
}

func become(program string, args, env []string) error { return syscall.Exec(program, args, env) }
