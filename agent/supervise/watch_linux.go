package supervise

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// watch waits for the end of one process through a pidfd, which identifies the
// process itself rather than its number. No thread waits: the pidfd is in the
// runtime's poller.
type watch struct {
	pidfd *os.File
	pid   int
	cmd   *exec.Cmd // nil for a process that another supervisor started
}

// watchChild watches a process just started; nothing else may wait for it.
func watchChild(cmd *exec.Cmd) (*watch, error) {
	w, err := openWatch(cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	w.cmd = cmd
	return w, nil
}

func openWatch(pid int) (*watch, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("open pidfd of %d: %w", pid, err)
	}
	return &watch{pidfd: os.NewFile(uintptr(fd), "pidfd"), pid: pid}, nil
}

// attach finds a recorded process if it lives or has not been reaped; ok is false if
// it is gone.
func attach(rec record) (w *watch, pid int, ok bool) {
	pid = rec.PID
	if pid == 0 { // its supervisor was killed during the launch
		if pid = findRun(rec.ID); pid == 0 {
			return nil, 0, false
		}
	}
	w, err := openWatch(pid)
	if err != nil {
		return nil, 0, false
	}
	// While the pidfd is open, the process id cannot be reused unnoticed.
	if rec.PID != 0 {
		if now, err := birth(pid); err != nil || now != rec.Birth {
			w.close()
			return nil, 0, false
		}
	}
	return w, pid, true
}

// wait returns the end of the process. If ctx ends first, it returns ctx's error; the
// process continues, and another watch may wait for it. last is called when the
// process has ended, before it is reaped: a child's process id is then still its own.
func (w *watch) wait(ctx context.Context, last func()) (status, error) {
	stop := context.AfterFunc(ctx, func() { _ = w.pidfd.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	conn, err := w.pidfd.SyscallConn()
	if err != nil {
		return status{}, fmt.Errorf("watch process %d: %w", w.pid, err)
	}
	err = conn.Read(func(fd uintptr) bool { return ready(int(fd), unix.POLLIN, 0) })
	switch {
	case ctx.Err() != nil && err != nil:
		return status{}, ctx.Err()
	case err != nil:
		return status{}, fmt.Errorf("watch process %d: %w", w.pid, err)
	}
	last()
	return w.reap(), nil
}

func ready(fd int, events int16, wait time.Duration) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: events}}
	n, err := unix.Poll(fds, int(wait.Milliseconds()))
	return err == nil && n > 0 && fds[0].Revents&(events|unix.POLLERR) != 0
}

// reap fetches the end's status. The process is a child if we started it, or if it
// became ours because we are its subreaper or after an exec in place. Otherwise its
// new parent reaps it, and since Linux 6.15 the pidfd then keeps the status.
func (w *watch) reap() status {
	if w.cmd != nil {
		_ = w.cmd.Wait() // the status says more than the error
		return statusOf(w.cmd.ProcessState.Sys().(syscall.WaitStatus))
	}
	var wait unix.WaitStatus
	pid, err := unix.Wait4(w.pid, &wait, unix.WNOHANG, nil)
	if err == nil && pid == w.pid {
		return statusOf(syscall.WaitStatus(wait))
	}
	return w.reapedByOther()
}

// otherReaps is how long the new parent of a process may take to reap it. After that
// the end's status is unknown.
const otherReaps = 200 * time.Millisecond

func (w *watch) reapedByOther() status {
	conn, err := w.pidfd.SyscallConn()
	if err != nil {
		return unknown()
	}
	result := unknown()
	_ = conn.Control(func(fd uintptr) {
		if !ready(int(fd), unix.POLLHUP, otherReaps) {
			return
		}
		info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
		err := unix.IoctlPidfdInfo(int(fd), &info)
		if err == nil && info.Mask&unix.PIDFD_INFO_EXIT != 0 {
			result = statusOf(syscall.WaitStatus(info.Exit_code))
		}
	})
	return result
}

func (w *watch) close() { _ = w.pidfd.Close() }

// birth returns a lasting identity of a process: the machine's boot and the tick of
// its start.
func birth(pid int) (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", fmt.Errorf("read process status: %w", err)
	}
	// The name, in parentheses, may contain anything; field 3 follows it.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const startTime = 22 - 3
	if len(fields) <= startTime {
		return "", fmt.Errorf("read process status: %q has no start time", stat)
	}
	return strings.TrimSpace(string(boot)) + "/" + fields[startTime], nil
}

// findRun returns the first process of a run, found by the id in its environment; 0
// if there is none.
func findRun(id string) int {
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		environ, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+runVariable+"="+id+"\x00")) {
			continue
		}
		if leader, err := unix.Getsid(pid); err == nil && leader == pid {
			return pid
		}
	}
	return 0
}
