//go:build !linux

package isolate

import (
	"io"
	"os/exec"
)

func (o order) launch(cmd *exec.Cmd, launcher string) error {
	if err := o.give(cmd, launcher); err != nil {
		return err
	}
	return cmd.Start()
}

func outlive(io.Reader, io.Writer) error { return ErrUnavailable }
