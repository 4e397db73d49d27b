package instance_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/fault"
)

// A machine joins, and connects, only with addresses that players may reach; the refusal names the
// member and the remedy.
func TestHosts_Addresses(t *testing.T) {
	in(t, instance.Options{}, func(y *yard) {
		_, host := y.joined(region)
		for _, c := range []struct{ ip, ipv6, dns, refused string }{
			{"192.0.2.1", "2001:db8::1", "", ""}, {"2001:db8::1", "", "", ""}, {"", "", "host.test", ""}, {"127.0.0.1", "::1", "", ""},
			{"0.0.0.0", "", "host.test", "IPAddress: 0.0.0.0 is the unspecified address"}, {"host.test", "", "", `IPAddress: "host.test" is no IPv4 or IPv6 address`},
			{"192.0.2.1", "ff02::1", "", "IPv6Address: ff02::1 is a multicast address"}, {"192.0.2.1", "192.0.2.2", "", "IPv6Address: it must be an IPv6 address"},
			{"192.0.2.1", "", "0.0.0.0", "DNSName: 0.0.0.0 is the unspecified address"},
			{"", "2001:db8::1", "", "IPAddress or DNSName: one of them is required"}, {"2001:db8::1", "2001:db8::2", "", "an only address belongs in IPAddress"},
		} {
			m := machine
			m.IPAddress, m.IPv6Address, m.DNSName = c.ip, c.ipv6, c.dns
			present := func() error {
				return y.Instances.HostConnected.Do(y.Ctx, instance.HostPresence{HostID: host, Info: m})
			}
			if c.refused == "" {
				y.Must(present())
				continue
			}
			y.Refused(c.refused, fault.InvalidRequest, present)
			if err := present(); !strings.Contains(err.Error(), c.refused) {
				t.Errorf("the refusal is %v, want %q in it", err, c.refused)
			}
		}
	})
}
