// Package outgoing keeps requests to hosts that others name away from addresses at which
// machines get credentials.
package outgoing

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// ErrForbidden is wrapped by errors of Control.
var ErrForbidden = errors.New("link-local, multicast or unspecified address, to which Muster sends nothing")

var (
	translated = netip.MustParsePrefix("64:ff9b::/96") // IPv4 addresses by NAT64 (RFC 6052)
	metadata   = netip.MustParseAddr("fd00:ec2::254")  // of EC2; link-local in all but form
)

// Control is a net.Dialer's Control that refuses link-local, multicast and unspecified
// addresses: a name may resolve to any address. It sees the address of the proxy in place of
// the host's where requests go through one.
func Control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := at.Addr().Unmap()
	if translated.Contains(ip) {
		last := ip.As16()
		ip = netip.AddrFrom4([4]byte(last[12:]))
	}
	if ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified() || ip == metadata {
		return fmt.Errorf("%s is a %w", ip, ErrForbidden)
	}
	return nil
}
