package jail

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Separate returns an error, with a text for people, unless the processes of each instance
// run as its own user, see only their own processes, are denied the system calls of
// administrators and what egress rules deny, and are in groups: without those, what a
// program started among a game server's processes outlives it.
func (j *Jailer) Separate() error {
	var missing []string
	for _, part := range []struct {
		is   bool
		what string
	}{
		{j.users != nil, "users of their own"}, {j.apart, "processes and folders of their own"}, {j.filter, "fewer system calls"},
		{j.groups != nil, "limits by control groups, which also end what they leave"}, {j.egress, "restricted destinations"},
	} {
		if !part.is {
			missing = append(missing, part.what)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("game servers here do not have %s", strings.Join(missing, ", nor "))
	}
	return nil
}

// HasUsers reports whether each instance has its own user.
func (j *Jailer) HasUsers() bool { return j.users != nil }

// shellPrefix begins the ids of the processes of remote shells.
const shellPrefix = "shell-"

// ShellID returns the id, as a Process, of a remote shell.
func ShellID(id string) string { return shellPrefix + id }

// EndShells ends the remote shells that a former agent left in the instance.
func (l *Jail) EndShells() {
	if l == nil {
		return
	}
	left, _ := filepath.Glob(l.tempDir(shellPrefix + "*")) // the pattern is valid
	for _, dir := range left {
		l.End(strings.TrimPrefix(filepath.Base(dir), "temp-"))
	}
}
