// Package address says at which IP addresses players can reach a game server.
package address

import (
	"fmt"
	"net/netip"
)

// nowhere are the networks of addresses to which nobody can connect, and what they are.
var nowhere = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("0.0.0.0/32"), "the unspecified address"},
	{netip.MustParsePrefix("::/128"), "the unspecified address"},
	{netip.MustParsePrefix("0.0.0.0/8"), "an address of no machine"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
	{netip.MustParsePrefix("255.255.255.255/32"), "the broadcast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address, which is of use only together with an interface"},
}

// Check returns an error if text is no IP address, or one to which nobody can connect. The
// error says why, and what to give instead; the caller puts the name of the member before it.
// An address of the loopback interface is allowed: players may be on the same machine.
func Check(text string) error {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return fmt.Errorf("%q is no IPv4 or IPv6 address", text)
	}
	if a.Zone() != "" {
		return fmt.Errorf("%q is no IPv4 or IPv6 address for others: they do not have its zone %q; give one without a zone", text, a.Zone())
	}
	a = a.Unmap()
	for _, n := range nowhere {
		if n.prefix.Contains(a) {
			return fmt.Errorf("%s is %s, and nobody can connect to it; give the address at which players reach the machine", text, n.what)
		}
	}
	return nil
}

// IsIPv6 reports whether text is an IPv6 address. One that stands for an IPv4 address, such as
// ::ffff:192.0.2.1, is not.
func IsIPv6(text string) bool {
	a, err := netip.ParseAddr(text)
	return err == nil && a.Unmap().Is6()
}

// CheckHost is Check for text that may also be a DNS name. It says nothing of names.
func CheckHost(text string) error {
	if !Is(text) {
		return nil
	}
	return Check(text)
}

// Is reports whether text is an IP address, and not a name.
func Is(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}

// Pair returns the addresses of a machine that has one or two of them, given in any order: the
// IPv4 address, or the only one, and the IPv6 address if there is an IPv4 address too.
func Pair(texts ...string) (ip, ipv6 string, err error) {
	for _, text := range texts {
		if err := Check(text); err != nil {
			return "", "", err
		}
	}
	switch {
	case len(texts) == 0:
		return "", "", nil
	case len(texts) == 1:
		return texts[0], "", nil
	case len(texts) == 2 && !IsIPv6(texts[0]) && IsIPv6(texts[1]):
		return texts[0], texts[1], nil
	case len(texts) == 2 && IsIPv6(texts[0]) && !IsIPv6(texts[1]):
		return texts[1], texts[0], nil
	}
	return "", "", fmt.Errorf("%d addresses, of which at most one may be an IPv4 address and one an IPv6 address; leave the others out", len(texts))
}
