//go:build !linux

package enginetest

import "syscall"

// Engines are started on Linux only.
func ownGroup() *syscall.SysProcAttr { return nil }

func unmount(string) {}

func runInOwnNetwork() (code int, ok bool) { return 0, false }

func openNetwork() error { return nil }
