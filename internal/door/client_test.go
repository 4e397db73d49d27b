package door

import (
	"net/http"
	"net/netip"
	"testing"
)

// Only trusted proxies may name the client.
func TestProxies_Client(t *testing.T) {
	t.Parallel()
	proxies, err := ParseProxies([]string{"10.0.0.0/8", "2001:db8::1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		socket, forwarded, want string
		proxy                   bool
	}{
		{"198.51.100.7:1234", "192.0.2.1", "198.51.100.7", false},
		{"10.0.0.1:1234", "", "10.0.0.1", true},
		{"10.0.0.1:1234", "192.0.2.1", "192.0.2.1", true},
		{"10.0.0.1:1234", "203.0.113.9, 192.0.2.1, 10.0.0.2", "192.0.2.1", true},
		{"10.0.0.1:1234", "rubbish", "10.0.0.1", true},
		{"[2001:db8::1]:1", "2001:db8:7::1", "2001:db8:7::1", true},
		{"[::ffff:10.0.0.1]:1", "192.0.2.1", "192.0.2.1", true},
	} {
		r := &http.Request{RemoteAddr: c.socket, Header: http.Header{}}
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		got, proxy := proxies.client(r)
		if got != netip.MustParseAddr(c.want) || proxy != c.proxy {
			t.Errorf("%s, %q: got %s, proxy %v; want %s, %v", c.socket, c.forwarded, got, proxy, c.want, c.proxy)
		}
	}
	if _, err := ParseProxies([]string{"10.0.0.0/8", "proxy.example"}); err == nil {
		t.Error("a name is taken for an address")
	}
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	of := func(addr string) netip.Prefix { return Network(netip.MustParseAddr(addr)) }
	if of("2001:db8::1") != of("2001:db8::2") {
		t.Error("one client's addresses are counted apart")
	}
	if of("2001:db8::1") == of("2001:db8:0:1::1") || of("192.0.2.1") == of("192.0.2.2") {
		t.Error("two clients are counted together")
	}
	site := func(addr string) netip.Prefix { return Site(netip.MustParseAddr(addr)) }
	if site("2001:db8::1") != site("2001:db8:0:ff::1") || site("2001:db8::1") == site("2001:db8:0:100::1") || site("192.0.2.1") == site("192.0.2.2") {
		t.Error("a site has other addresses than one of IPv4 and a /56 of IPv6")
	}
	if Network(netip.Addr{}).IsValid() || Site(netip.Addr{}).IsValid() {
		t.Error("no address has a network")
	}
}
