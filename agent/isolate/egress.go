package isolate

import "net/netip"

// Egress is where a process may send to, in addition to what is never refused (see
// Refused): of the machine itself, its link-local networks and the addresses at which
// clouds hand out credentials, only the following is allowed.
type Egress struct {
	// Allow are networks to which everything may be sent.
	Allow []netip.Prefix
	// Services may be connected to, by TCP or UDP.
	Services []netip.AddrPort
	// Players is the range of ports of this machine, both ends included, to which UDP
	// may be sent: the ephemeral ports, from which programs that bind no port send.
	// {0, 0} for none.
	Players [2]uint16
}

// refused are the machine itself and its link-local networks, where clouds serve
// credentials, and other addresses where clouds do.
var refused = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),   // Linux treats it as the loopback
	netip.MustParsePrefix("127.0.0.0/8"), // loopback
	netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("100.100.100.200/32"), // Alibaba Cloud
	netip.MustParsePrefix("168.63.129.16/32"),   // Azure
	netip.MustParsePrefix("192.0.0.192/32"),     // Oracle Cloud
	netip.MustParsePrefix("::/127"),             // unspecified, which Linux treats as the loopback, and loopback
	netip.MustParsePrefix("fe80::/10"),
	netip.MustParsePrefix("fd00:ec2::/32"),    // AWS
	netip.MustParsePrefix("fd20:ce::254/128"), // Google Cloud
}

// Refused reports whether an address is one to which a process may send only if
// Egress says so.
func Refused(a netip.Addr) bool {
	for _, network := range refused {
		if network.Contains(a.Unmap().WithZone("")) {
			return true
		}
	}
	return false
}

// rule decides about packets to a network. Zero ports and protocol match all.
type rule struct {
	to       netip.Prefix
	from, up uint16 // ports, both included
	udp      bool   // only UDP
	allow    bool
}

// rules returns the rules in order of evaluation; what none decides is allowed.
func (e Egress) rules() []rule {
	var all []rule
	for _, network := range e.Allow {
		all = append(all, rule{to: network.Masked(), allow: true})
	}
	for _, s := range e.Services {
		a := s.Addr().Unmap().WithZone("")
		all = append(all, rule{to: netip.PrefixFrom(a, a.BitLen()), from: s.Port(), up: s.Port(), allow: true})
	}
	if e.Players[1] > 0 {
		for _, loopback := range []string{"127.0.0.0/8", "::1/128"} {
			all = append(all, rule{to: netip.MustParsePrefix(loopback), from: e.Players[0], up: e.Players[1], udp: true, allow: true})
		}
	}
	for _, network := range refused {
		all = append(all, rule{to: network})
	}
	return all
}
