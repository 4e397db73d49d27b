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

// KillUser ends every process of a user, wherever it went, until none is left or
// the time is over. The user must be nobody's but ours.
func KillUser(uid int, within time.Duration) error {
	if uid <= 0 || uid == os.Getuid() {
		return fmt.Errorf("kill user %d: %w", uid, errors.ErrUnsupported)
	}
	if err := killAll(func() []int { return ProcessesOf(uid) }, within); err != nil {
		return fmt.Errorf("kill user %d: %w", uid, err)
	}
	return nil
}

// ProcessesOf lists the processes of a user that have not ended.
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

// isOf tells of a process's status file whether the process is a user's, and has
// not ended. The file's own owner may be another: processes can hide that.
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
