package app

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/musterhq/muster/agent/supervise"
)

// nodeName is what distinguishes this node from the others of its cells.
type nodeName struct {
	opts *Options
	id   string
	lock io.Closer // of the data directory's node id; nil: not used
}

// take reads the id. It is stored in the data directory, so that a restarted node has the
// same id, and is used by one process at a time: another one with the directory gets an id
// until it ends.
func (n *nodeName) take() error {
	lock, err := supervise.Lock(n.opts.file("node.lock"))
	if err != nil {
		n.opts.Logger.Info("the data directory's node id is not used", "error", err)
		n.id = rand.Text()
		return nil
	}
	n.lock = lock
	path := n.opts.file("node.id")
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read node id: %w", err)
	}
	if n.id = strings.TrimSpace(string(text)); n.id != "" {
		return nil
	}
	n.id = rand.Text()
	if err := os.WriteFile(path, []byte(n.id+"\n"), 0o600); err != nil {
		return fmt.Errorf("keep node id: %w", err)
	}
	return nil
}

// at returns the node's name at an address.
func (n *nodeName) at(address string) string {
	host, _ := os.Hostname()
	return host + "/" + address + "/" + n.id
}

// release lets another process use the id.
func (n *nodeName) release() {
	if n.lock != nil {
		n.lock.Close()
		n.lock = nil
	}
}
