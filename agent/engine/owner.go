package engine

import (
	"fmt"
	"os"
	"strings"
)

// ProcessOf returns the process id in the labels of the group in whose game server container
// a process of this machine runs, or "". It reads what the kernel says of the process, and
// does not ask the engine.
func (e *Engine) ProcessOf(pid int) string {
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return ""
	}
	return processIn(string(groups), e.games())
}

// games returns the process ids of the groups by the ids of their game server containers.
func (e *Engine) games() map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	games := make(map[string]string, len(e.running))
	for _, r := range e.running {
		for _, m := range r.all() {
			if m.role == roleGame && m.id != "" {
				games[m.id] = r.labels.ProcessID
			}
		}
	}
	return games
}

// processIn returns the process id of the container that the names of a process's control
// groups contain, such as /docker/ID or /machine.slice/libpod-ID.scope. The outermost one
// counts, since a container may have control groups within its own.
func processIn(groups string, games map[string]string) string {
	for _, word := range strings.FieldsFunc(groups, func(r rune) bool { return strings.ContainsRune("/:-._\n", r) }) {
		if id, ok := games[word]; ok {
			return id
		}
	}
	return ""
}
