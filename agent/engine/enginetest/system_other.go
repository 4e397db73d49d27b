//go:build !linux

package enginetest

import "syscall"

// Engines are started on Linux only.
func ownGroup() *syscall.SysProcAttr { return nil }

func unmount(string) {}
