//go:build !linux

package engine

import "net/netip"

// fixAddress does nothing: containers of other systems run in a virtual machine, which has
// the bridge.
func fixAddress(netip.Addr, map[int]bool) (index int, err error) { return 0, nil }
