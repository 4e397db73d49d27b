//go:build !linux

package wrap

import "os/exec"

// setApart does nothing: here nothing would end a program together with the wrapper.
func setApart(*exec.Cmd) {}
