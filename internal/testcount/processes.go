package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// process is a process that a test left running.
type process struct {
	pid     int
	command string
}

// processesOf returns the processes that have to do with a folder, other than this process,
// those that started it and those that have ended (zombies). Only Linux says what others use;
// elsewhere it finds none.
func processesOf(dir string) ([]process, error) {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	ours := ancestors()
	var all []process
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil || ours[pid] || !hasToDo(folder, dir) {
			continue
		}
		command, _ := os.ReadFile(filepath.Join(folder, "cmdline")) // empty for one that has ended
		if len(command) > 0 {
			all = append(all, process{pid, strings.TrimSpace(string(bytes.ReplaceAll(command, []byte{0}, []byte{' '})))})
		}
	}
	return all, nil
}

// hasToDo reports whether a process's environment names a folder, or its working directory,
// executable or first argument lies in it. Game servers have no environment of the tests, and
// one that is isolated has a working directory in a file system of its own.
func hasToDo(process, dir string) bool {
	environment, _ := os.ReadFile(filepath.Join(process, "environ")) // another user's cannot be read
	for value := range bytes.SplitSeq(environment, []byte{0}) {
		_, path, _ := strings.Cut(string(value), "=")
		if isBelow(path, dir) {
			return true
		}
	}
	for _, link := range []string{"cwd", "exe"} {
		path, _ := os.Readlink(filepath.Join(process, link))
		if isBelow(strings.TrimSuffix(path, " (deleted)"), dir) {
			return true
		}
	}
	command, _ := os.ReadFile(filepath.Join(process, "cmdline"))
	name, rest, _ := bytes.Cut(command, []byte{0}) // the first is the program's name
	first, _, _ := bytes.Cut(rest, []byte{0})
	return isBelow(string(name), dir) || isBelow(string(first), dir)
}

func isBelow(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// ancestors returns the ids of this process and of those that started it.
func ancestors() map[int]bool {
	all := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !all[pid]; pid = parent(pid) {
		all[pid] = true
	}
	return all
}

// parent returns the id of a process's parent, or 0.
func parent(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "PPid:"); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(text))
			return n
		}
	}
	return 0
}
