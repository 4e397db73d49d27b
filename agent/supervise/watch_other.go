//go:build !linux

package supervise

import (
	"context"
	"os/exec"
)

// watch waits for the end of one child. Its goroutine ends with the child, even if
// the supervisor lets go of it earlier.
type watch struct {
	ended  chan struct{} // closed when the child has ended
	status status
}

func watchChild(cmd *exec.Cmd) (*watch, error) {
	w := &watch{ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // the status says more than the error
		w.status = statusOfState(cmd.ProcessState)
		close(w.ended)
	}()
	return w, nil
}

// attach finds nothing: without a lasting identity, a process cannot be distinguished
// from a later one with the same id.
func attach(record) (*watch, int, bool) { return nil, 0, false }

func (w *watch) wait(ctx context.Context, last func()) (status, error) {
	select {
	case <-w.ended:
		last()
		return w.status, nil
	case <-ctx.Done():
		return status{}, ctx.Err()
	}
}

func (w *watch) close() {}

func birth(int) (string, error) { return "", nil }
