//go:build !linux

package supervise_test

// Only Linux has successors.
func supervisorMain() {}
func reaperMain()     {}
