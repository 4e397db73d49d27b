//go:build !linux

package isolate

import (
	"io"
	"os"
	"os/exec"
)

func (o order) launch(cmd *exec.Cmd, launcher string) error {
	if err := o.give(cmd, launcher); err != nil {
		return err
	}
	return cmd.Start()
}

// NamespaceOf fails: this system has no namespaces.
func NamespaceOf(int, int) (*os.File, error) { return nil, ErrUnavailable }

func outlive(io.Reader, io.Writer) error { return ErrUnavailable }
