package door

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are addresses of proxies that may say in X-Forwarded-For for whom they
// send a request.
type Proxies []netip.Prefix

// ParseProxies reads addresses and networks; the error names the one that is
// neither.
func ParseProxies(texts []string) (Proxies, error) {
	var all Proxies
	for _, text := range texts {
		if addr, err := netip.ParseAddr(text); err == nil {
			all = append(all, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%q is neither an address nor a network", text)
		}
		all = append(all, p)
	}
	return all, nil
}

// Has reports whether an address is a proxy's.
func (p Proxies) Has(addr netip.Addr) bool {
	return slices.ContainsFunc(p, func(of netip.Prefix) bool { return of.Contains(addr) })
}

// client returns the address for which proxies send a request: the first from the
// right of X-Forwarded-For that is no proxy's. It reports false where the sender
// is no proxy.
func (p Proxies) client(r *http.Request) (netip.Addr, bool) {
	addr := Client(r)
	if !p.Has(addr) {
		return addr, false
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		next, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		if addr = next.Unmap().WithZone(""); !p.Has(addr) {
			break
		}
	}
	return addr, true
}

// Client returns the address from which a request comes, behind proxies too where
// a Door has seen it; the zero Addr where there is none.
func Client(r *http.Request) netip.Addr { return addressOf(r.RemoteAddr) }

func addressOf(hostPort string) netip.Addr {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		return netip.Addr{}
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return addr.Unmap().WithZone("")
}

// Network returns what one client has of addresses: one of IPv4, a /64 of IPv6.
func Network(addr netip.Addr) netip.Prefix { return network(addr, 64) }

// Site returns what one customer of a network provider has of addresses: one of
// IPv4, a /56 of IPv6, within which it can take 256 networks and any address.
func Site(addr netip.Addr) netip.Prefix { return network(addr, 56) }

// network returns the network of an address: of IPv6 with that many bits.
func network(addr netip.Addr, bits int) netip.Prefix {
	if !addr.Is6() {
		bits = addr.BitLen()
	}
	p, _ := addr.Prefix(bits) // of the zero Addr: the zero Prefix
	return p
}
