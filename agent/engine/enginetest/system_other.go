//go:build !linux

package enginetest

import (
	"io"
	"syscall"
)

// Engines are started on Linux only.
func ownGroup() *syscall.SysProcAttr { return nil }

func unmount(string) {}

func inOwnNetwork(_, _ io.Writer, _ ...string) (code int, ok bool) { return 0, false }

func openNetwork() error { return nil }
