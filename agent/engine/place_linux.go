package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const killSignal = unix.SIGKILL

// signals are those that a client may send.
var signals = map[string]unix.Signal{
	"HUP": unix.SIGHUP, "INT": unix.SIGINT, "QUIT": unix.SIGQUIT, "TERM": unix.SIGTERM, "KILL": unix.SIGKILL, "USR1": unix.SIGUSR1, "USR2": unix.SIGUSR2,
}

// place is the namespace of processes of a container of this machine: engines start programs
// in containers, but do not end them.
type place struct{ namespace string }

// placeOf returns the place of a container, by its first process.
func placeOf(pid int, id string) (place, error) {
	elsewhere := errors.New("the agent does not get at the processes of the machine's containers, and so could not end a program in one: run it as root, on the engine's machine")
	if pid <= 1 {
		return place{}, elsewhere
	}
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil || !strings.Contains(string(groups), id) {
		return place{}, elsewhere
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return place{}, elsewhere
	}
	defer unix.Close(fd)
	p := place{namespaceOf(pid)}
	if own := namespaceOf(os.Getpid()); p.namespace == "" || p.namespace == own || unix.PidfdSendSignal(fd, 0, nil, 0) != nil {
		return place{}, elsewhere
	}
	return p, nil
}

func namespaceOf(pid int) string {
	name, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	return name
}

// process is what the system says of a process.
type process struct {
	pid, group, session, foreground int
	ended                           bool
}

// parseProcess reads a process's file stat.
func parseProcess(text string) (process, bool) {
	begin, end := strings.IndexByte(text, ' '), strings.LastIndexByte(text, ')') // its name may have any characters
	if begin < 0 || end < begin {
		return process{}, false
	}
	fields := strings.Fields(text[end+1:])
	if len(fields) < 6 {
		return process{}, false
	}
	var p process
	for _, f := range []struct {
		text string
		to   *int
	}{{text[:begin], &p.pid}, {fields[2], &p.group}, {fields[3], &p.session}, {fields[5], &p.foreground}} {
		var err error
		if *f.to, err = strconv.Atoi(f.text); err != nil {
			return process{}, false
		}
	}
	p.ended = fields[0] == "Z" || fields[0] == "X"
	return p, true
}

// signal sends a signal to the processes of a session in the container that are in a group,
// or to all if group is 0. It returns how many there are.
func (p place) signal(session, group int, sig unix.Signal) (count int) {
	if session <= 1 {
		return 0
	}
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || !p.is(pid, session, group) {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if p.is(pid, session, group) { // still; the descriptor is that process's, whoever gets the id
			count++
			_ = unix.PidfdSendSignal(fd, sig, nil, 0) // it may have ended
		}
		unix.Close(fd)
	}
	return count
}

func (p place) is(pid, session, group int) bool {
	found, ok := read(pid)
	return ok && !found.ended && found.session == session && (group == 0 || found.group == group) && namespaceOf(pid) == p.namespace
}

func read(pid int) (process, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	return parseProcess(string(text))
}

// signalGroup sends a signal to the group of a program, or to the one in the foreground of
// its terminal.
func (p place) signalGroup(leader int, name string) {
	sig, ok := signals[name]
	if !ok || !p.is(leader, leader, 0) {
		return
	}
	found, _ := read(leader)
	group := leader
	if found.foreground > 1 {
		group = found.foreground
	}
	p.signal(leader, group, sig)
}
