package isolate

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// KillUser kills every process of a user, in whatever session, until none is left or
// the time is over. Only the agent may use this user.
func KillUser(uid int, within time.Duration) error {
	if uid <= 0 || uid == os.Getuid() {
		return fmt.Errorf("kill user %d: %w", uid, errors.ErrUnsupported)
	}
	if err := killAll(func() []int { return ProcessesOf(uid) }, within); err != nil {
		return fmt.Errorf("kill user %d: %w", uid, err)
	}
	return nil
}

// ProcessesOf returns the processes of a user that have not ended.
func ProcessesOf(uid int) []int {
	var all []int
	paths, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil || !isOf(text, uid) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && pid > 1 {
			all = append(all, pid)
		}
	}
	return all
}

// isOf reports whether a process's status file shows a process of the user that has
// not ended. The owner of the file itself may be another user: processes can change
// that.
func isOf(status []byte, uid int) bool {
	mine := false
	for line := range bytes.Lines(status) {
		fields := strings.Fields(string(line))
		switch {
		case len(fields) > 1 && fields[0] == "State:" && (fields[1] == "Z" || fields[1] == "X"):
			return false
		case len(fields) > 1 && fields[0] == "Uid:":
			mine = fields[1] == strconv.Itoa(uid)
		}
	}
	return mine
}
