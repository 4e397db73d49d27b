package main

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/app"
)

// --ip takes an IPv4 address, an IPv6 address or both, and refuses what nobody can reach, for an
// agent and for a local server.
func TestIP(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ flag, ip, ipv6, refused string }{
		{"192.0.2.1", "192.0.2.1", "", ""}, {"2001:db8::1", "2001:db8::1", "", ""}, {"2001:db8::1,192.0.2.1", "192.0.2.1", "2001:db8::1", ""},
		{"0.0.0.0", "", "", "ip: 0.0.0.0 is the unspecified address, and nobody can connect to it; give the address at which players reach the machine"},
		{"192.0.2.1,::", "", "", "ip: :: is the unspecified address"}, {"192.0.2.1,192.0.2.2", "", "", "ip: 2 addresses"}, {"host.test", "", "", `ip: "host.test" is no IPv4 or IPv6 address`},
	} {
		commands, s, _ := parsed(t, "agent", "--server", "http://127.0.0.1:1", "--root", t.TempDir(), "--token", "join-1", "--ip", c.flag)
		o, err := commands.Agent.Run.ProvideOptions(s)
		if c.refused == "" && (err != nil || o.Facts.IPAddress != c.ip || o.Facts.IPv6 != c.ipv6) {
			t.Errorf("an agent with --ip %s: %+v, %v", c.flag, o.Facts, err)
		}
		if c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("an agent with --ip %s: %v, want %q", c.flag, err, c.refused)
		}
		if c.refused == "" {
			continue // a local server would run
		}
		commands, s, _ = parsed(t, "local", "--ip", c.flag)
		if err := commands.Local.Run(s, app.Options{}); err == nil || !strings.Contains(err.Error(), "local: "+c.refused) {
			t.Errorf("a local server with --ip %s: %v, want %q", c.flag, err, c.refused)
		}
	}
}
