//go:build !unix

package handover

import (
	"errors"
	"syscall"
)

type passable = syscall.Conn

// duplicate fails: no program replaces itself on this system.
func duplicate(passable) (int, error) { return 0, errors.ErrUnsupported }

func inherit(int) error { return errors.ErrUnsupported }
