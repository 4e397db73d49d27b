package jail

import (
	"net/netip"
	"slices"
	"testing"
)

// Processes can send to the services that are allowed after the jailer was made, whatever
// their ports.
func TestAllow(t *testing.T) {
	t.Parallel()
	j := New(Options{})
	statsd, crash := netip.MustParseAddrPort("127.0.0.1:40125"), netip.MustParseAddrPort("127.0.0.1:40126")
	if e := j.egressTo("", nil); slices.Contains(e.Services, statsd) {
		t.Errorf("nothing is allowed yet, and processes may send to %v", e.Services)
	}
	j.Allow(statsd, crash)
	if e := j.egressTo("", nil); !slices.Contains(e.Services, statsd) || !slices.Contains(e.Services, crash) {
		t.Errorf("processes may send to %v", e.Services)
	}
}
