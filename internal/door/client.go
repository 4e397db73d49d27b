package door

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are addresses of proxies whose X-Forwarded-For is trusted to name the client.
type Proxies []netip.Prefix

// ParseProxies parses addresses and networks; the error names a text that is neither.
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

// Has reports whether an address is that of a proxy.
func (p Proxies) Has(addr netip.Addr) bool {
	return slices.ContainsFunc(p, func(of netip.Prefix) bool { return of.Contains(addr) })
}

// client returns the client's address of a request sent by a proxy: the first from the
// right of X-Forwarded-For that is not a proxy's. It reports false if the sender is not
// a proxy.
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

// Client returns the address from which a request comes, or the zero Addr if there is
// none. For requests that passed a Door, it is the client's even behind proxies.
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

// Network returns the range of addresses that one client has: one address of IPv4, a
// /64 of IPv6.
func Network(addr netip.Addr) netip.Prefix { return network(addr, 64) }

// Site returns the range of addresses that one customer of a network provider has: one
// address of IPv4, a /56 of IPv6, in which the customer can use 256 networks and any
// address.
func Site(addr netip.Addr) netip.Prefix { return network(addr, 56) }

// network returns the network of an address: bits is the prefix length for IPv6.
func network(addr netip.Addr, bits int) netip.Prefix {
	if !addr.Is6() {
		bits = addr.BitLen()
	}
	p, _ := addr.Prefix(bits) // the zero Prefix for the zero Addr
	return p
}
