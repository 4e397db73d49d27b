package isolate

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// launch starts a command with an order.
//
// A command with Apart gets a PID namespace. The first process of a namespace is
// special: it ignores signals without a handler, and all others end with it. So the
// command is not the first process; another process of our own program is, which ends
// when the command does. The command is still our own child, with a process id and an
// exit status like any other's.
func (o order) launch(cmd *exec.Cmd, launcher string) error {
	if !o.Apart {
		if err := o.give(cmd, launcher); err != nil {
			return err
		}
		return cmd.Start()
	}
	if o.among != nil {
		if err := o.give(cmd, launcher); err != nil {
			return err
		}
		return startIn(cmd, o.among)
	}
	first, word, err := o.startFirst(cmd, launcher)
	if err != nil {
		return fmt.Errorf("make a namespace of processes: %w", err)
	}
	defer word.Close() // without input it ends, and everything in the namespace with it
	if err := o.give(cmd, launcher); err != nil {
		return err
	}
	theirs, err := os.Open(namespacePath(first.Process.Pid))
	if err != nil {
		return err
	}
	defer theirs.Close()
	if err := startIn(cmd, theirs); err != nil {
		return err
	}
	number, err := innermost(cmd.Process.Pid)
	if err == nil {
		_, err = fmt.Fprintln(word, number)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("watch from within the namespace: %w", err), cmd.Process.Kill(), cmd.Wait())
	}
	return nil
}

// itself is the program that a process runs, even if the user cannot access its
// folder.
const itself = "/proc/self/exe"

// startFirst starts the first process of a new namespace. That process waits for the
// id, within the namespace, of the process with which it is to end.
func (o order) startFirst(of *exec.Cmd, launcher string) (first *exec.Cmd, word *os.File, err error) {
	first = &exec.Cmd{
		Args: []string{"muster-first"}, Dir: "/", Env: []string{"LANG=C.UTF-8"},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Cloneflags: unix.CLONE_NEWPID},
	}
	if file, ok := of.Stderr.(*os.File); ok {
		first.Stderr = file
	}
	if err := (order{Jail: Jail{User: o.User, Filter: o.Filter}, First: true, Join: o.Join, Program: itself}).give(first, launcher); err != nil {
		return nil, nil, err
	}
	ready, said, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer ready.Close()
	in, word, err := os.Pipe()
	if err != nil {
		said.Close()
		return nil, nil, err
	}
	first.Stdin, first.Stdout = in, said
	if first.Stderr == nil {
		first.Stderr = said
	}
	err = first.Start()
	in.Close()
	said.Close()
	if err != nil {
		word.Close()
		return nil, nil, err
	}
	if line, _ := bufio.NewReader(ready).ReadString('\n'); line != "\n" {
		word.Close()
		_ = first.Wait() // ProcessState says how it ended
		return nil, nil, errors.New(cmp.Or(strings.TrimSpace(line), fmt.Sprint("the first process ended before it was ready: ", first.ProcessState)))
	}
	go func() {
		_ = first.Wait() // its end says nothing that the command's does not
		if o.ended != nil {
			close(o.ended)
		}
	}()
	return first, word, nil
}

func namespacePath(pid int) string { return fmt.Sprintf("/proc/%d/ns/pid", pid) }

// NamespaceOf opens the namespace of processes that a process was started in, if it is a
// process of the user and the namespace is not ours.
func NamespaceOf(pid, uid int) (*os.File, error) {
	theirs, err := os.Open(namespacePath(pid))
	if err != nil {
		return nil, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err == nil && !isOf(status, uid) {
		err = fmt.Errorf("process %d is not of user %d", pid, uid)
	}
	var own, other unix.Stat_t
	if err == nil {
		err = unix.Fstat(int(theirs.Fd()), &other)
	}
	if err == nil {
		err = unix.Stat("/proc/self/ns/pid", &own)
	}
	if err == nil && own.Dev == other.Dev && own.Ino == other.Ino {
		err = fmt.Errorf("process %d has no namespace of its own", pid)
	}
	if err != nil {
		theirs.Close()
		return nil, err
	}
	return theirs, nil
}

// startIn starts a command in a namespace of processes.
func startIn(cmd *exec.Cmd, theirs *os.File) error {
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err, back := startOnThread(cmd, theirs)
		if back == nil {
			runtime.UnlockOSThread()
		} // else the thread ends with the goroutine: what it started would be in the namespace as well
		failed <- err
	}()
	return <-failed
}

// startOnThread starts a command in a namespace of processes; back is the error, if
// any, of leaving it: later children of this thread would be in the namespace too.
func startOnThread(cmd *exec.Cmd, theirs *os.File) (err, back error) {
	ours, err := os.Open("/proc/thread-self/ns/pid")
	if err != nil {
		return err, nil
	}
	defer ours.Close()
	if err := unix.Setns(int(theirs.Fd()), unix.CLONE_NEWPID); err != nil {
		return fmt.Errorf("enter the namespace of processes: %w", err), nil
	}
	err = cmd.Start()
	return err, unix.Setns(int(ours.Fd()), unix.CLONE_NEWPID)
}

// innermost returns the id that a process has in its own namespace.
func innermost(pid int) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if numbers, ok := strings.CutPrefix(line, "NSpid:"); ok {
			all := strings.Fields(numbers)
			return strconv.Atoi(all[len(all)-1])
		}
	}
	return 0, errors.New("the system does not say which number a process has in its namespace")
}

// outlive is the work of the first process of a namespace: it reaps orphans until the
// process whose id it reads has ended. It writes to out when the others may start.
func outlive(in io.Reader, out io.Writer) error {
	signal.Ignore() // also SIGCHLD, so that the system reaps
	// Otherwise the other processes, which belong to the same user, could read its
	// memory.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close itself to others: %w", err)
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	text, err := io.ReadAll(in)
	if err != nil || len(text) == 0 {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("watch process %d: %w", pid, err)
	}
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
