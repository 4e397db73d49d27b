package address

import (
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Addresses at which somebody may be reached are allowed; others are refused, with the address,
// what it is and the remedy.
func TestCheck(t *testing.T) {
	for _, text := range []string{"192.0.2.1", "127.0.0.1", "::1", "10.0.0.1", "169.254.1.1", "2001:db8::1", "fd00::1", "::ffff:192.0.2.1"} {
		if err := Check(text); err != nil {
			t.Errorf("%s is refused: %v", text, err)
		}
	}
	for _, text := range []string{"", "host.test", "192.0.2.1"} {
		if err := CheckHost(text); err != nil {
			t.Errorf("the host %q is refused: %v", text, err)
		}
	}
	if CheckHost("::") == nil {
		t.Error("the host :: is allowed")
	}
	for text, want := range map[string]string{
		"": "no IPv4 or IPv6 address", "host.test": "no IPv4 or IPv6 address", "192.0.2.1:7": "no IPv4 or IPv6 address", "fe80::1%eth0": "zone",
		"0.0.0.0": "unspecified", "::": "unspecified", "::ffff:0.0.0.0": "unspecified", "0.1.2.3": "no machine",
		"224.0.0.1": "multicast", "239.255.255.250": "multicast", "ff02::1": "multicast",
		"255.255.255.255": "broadcast", "240.0.0.1": "reserved", "fe80::1": "link-local",
	} {
		if err := Check(text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), text) {
			t.Errorf("the error about %q is %v, without %q", text, err, want)
		}
	}
}

// Check refuses what the standard library says is unspecified or multicast, whatever form it has.
func TestCheckAgreesWithNetip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "v4")
		if rapid.Bool().Draw(t, "six") {
			bytes = rapid.SliceOfN(rapid.SampledFrom([]byte{0, 0xff, 0xfe, 0x80, 0x20, 1}), 16, 16).Draw(t, "v6")
		}
		a, _ := netip.AddrFromSlice(bytes)
		plain := a.Unmap()
		if plain.IsUnspecified() || plain.IsMulticast() || plain.Is6() && plain.IsLinkLocalUnicast() {
			if Check(a.String()) == nil {
				t.Fatalf("%s is allowed", a)
			}
		}
		if (plain.IsGlobalUnicast() && plain.Is6() || plain.IsLoopback() || plain.IsPrivate()) && Check(a.String()) != nil {
			t.Fatalf("%s is refused", a)
		}
	})
}

func TestPair(t *testing.T) {
	const v4, v6 = "192.0.2.1", "2001:db8::1"
	for _, c := range []struct {
		of       []string
		ip, ipv6 string
		fails    bool
	}{
		{nil, "", "", false}, {[]string{v4}, v4, "", false}, {[]string{v6}, v6, "", false},
		{[]string{v4, v6}, v4, v6, false}, {[]string{v6, v4}, v4, v6, false},
		{[]string{v4, "192.0.2.2"}, "", "", true}, {[]string{v6, "::1"}, "", "", true}, {[]string{v4, v6, "::1"}, "", "", true}, {[]string{v4, "::"}, "", "", true},
	} {
		if ip, ipv6, err := Pair(c.of...); ip != c.ip || ipv6 != c.ipv6 || (err != nil) != c.fails {
			t.Errorf("the addresses of %v are %q and %q: %v", c.of, ip, ipv6, err)
		}
	}
}
