package app

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/musterhq/muster/agent/supervise"
)

// nodeID returns what distinguishes this node from the others of its cell. It is stored in
// the data directory, so that a restarted node has the same id, and is used by one process
// at a time: another one with the directory gets an id until it ends.
func (a *App) nodeID() (string, error) {
	lock, err := supervise.Lock(a.opts.file("node.lock"))
	if err != nil {
		a.log.Info("the data directory's node id is not used", "error", err)
		return rand.Text(), nil
	}
	a.nodeLock = lock
	path := a.opts.file("node.id")
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read node id: %w", err)
	}
	if id := strings.TrimSpace(string(text)); id != "" {
		return id, nil
	}
	id := rand.Text()
	if err := os.WriteFile(path, []byte(id+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("keep node id: %w", err)
	}
	return id, nil
}

// freeNodeID lets another process use the data directory's node id.
func (a *App) freeNodeID() {
	if a.nodeLock != nil {
		a.nodeLock.Close()
		a.nodeLock = nil
	}
}
