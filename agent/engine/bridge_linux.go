package engine

import (
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// fixAddress gives the bridge that has an address of the network layer its own hardware
// address once more. The kernel gives a bridge the lowest of its members' addresses, and
// another one whenever a member comes or goes, until it is set: then it stays. Containers
// that know the former address lose all they send until they ask anew, which takes seconds
// to minutes. Podman's netavark sets it since version 1.9.
//
// fixAddress returns the index of the bridge's interface; 0 if no bridge of this network
// namespace has the address. Bridges in fixed are left as they are.
func fixAddress(ip netip.Addr, fixed map[int]bool) (index int, err error) {
	bridge, err := interfaceWith(ip)
	if err != nil || bridge == nil || fixed[bridge.Index] {
		return 0, err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	if info, err := unix.IoctlGetEthtoolDrvinfo(fd, bridge.Name); err != nil || unix.ByteSliceToString(info.Driver[:]) != "bridge" {
		return 0, nil
	}
	request, err := unix.NewIfreq(bridge.Name)
	if err != nil {
		return 0, err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFHWADDR, request); err != nil {
		return 0, fmt.Errorf("read the hardware address of %s: %w", bridge.Name, err)
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFHWADDR, request); err != nil {
		return 0, fmt.Errorf("set the hardware address of %s: %w", bridge.Name, err)
	}
	return bridge.Index, nil
}

// interfaceWith returns the interface that has an address, or nil.
func interfaceWith(ip netip.Addr) (*net.Interface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		addresses, err := one.Addrs()
		if err != nil {
			continue // it went away
		}
		for _, address := range addresses {
			if prefix, err := netip.ParsePrefix(address.String()); err == nil && prefix.Addr() == ip {
				return &one, nil
			}
		}
	}
	return nil, nil
}
