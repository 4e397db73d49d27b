package isolate

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// confine carries out an order, except for groups, for what runs after it in this
// process: first its own view of the machine, since that needs our privileges, then
// another user, then fewer system calls.
func (o *order) confine() error {
	runtime.LockOSThread() // namespaces and filters belong to the thread, and exec keeps them
	if len(o.Mounts) > 0 || len(o.Hide) > 0 || o.Apart || o.Game != "" {
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

// changeUser changes the user of this thread; exec then makes that the user of the
// whole process. (The functions of package syscall change all threads, and wait for
// each of them.)
func (o *order) changeUser() error {
	if o.User == 0 {
		return nil
	}
	id := uintptr(o.User)
	for _, step := range []struct {
		doing      string
		number     uintptr
		a1, a2, a3 uintptr
	}{
		{"leave groups", setGroups, 0, 0, 0},
		{"become group", setGroup, id, id, id},
		{"become user", setUser, id, id, id},
	} {
		if _, _, errno := unix.RawSyscall(step.number, step.a1, step.a2, step.a3); errno != 0 {
			return fmt.Errorf("%s %d: %w", step.doing, o.User, errno)
		}
	}
	return nil
}

// reach returns an error if the process cannot access files as its present user.
func reach(paths []string) error {
	for _, path := range paths {
		if err := unix.Access(path, unix.X_OK); err != nil {
			return &os.PathError{Op: "reach", Path: path, Err: err}
		}
	}
	return nil
}

func replace(program string, args, env []string) error { return syscall.Exec(program, args, env) }
