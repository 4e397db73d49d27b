//go:build !linux

package legacy

import "net/netip"

// ownersOf returns nothing: this system does not say who owns a connection.
func ownersOf(_, _ netip.AddrPort, _ int) (pids []int, known bool) { return nil, false }

// listenerOf returns nothing: this system does not say who listens on a port.
func listenerOf(int) string { return "" }

func lineage(pid int) map[int]bool { return map[int]bool{pid: true} }
