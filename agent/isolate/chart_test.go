package isolate

import (
	"net/netip"
	"os"
	"testing"

	"go.yaml.in/yaml/v4"
)

// The chart keeps game servers in pods from the addresses that the agent keeps its own from,
// apart from those of the machine itself, which a pod does not share.
func TestRefused_Chart(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../charts/muster/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		NetworkPolicy struct {
			Blocked []string `yaml:"blockedCIDRs"`
			IPv6    []string `yaml:"blockedIPv6CIDRs"`
		} `yaml:"networkPolicy"`
	}
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	blocked := map[netip.Prefix]bool{}
	for i, family := range [][]string{values.NetworkPolicy.Blocked, values.NetworkPolicy.IPv6} {
		for _, one := range family {
			network, err := netip.ParsePrefix(one)
			if err != nil || network.Addr().Is6() != (i == 1) {
				t.Errorf("%q is no network of its family: %v", one, err)
			}
			blocked[network] = true
		}
	}
	for _, network := range refused {
		if a := network.Addr(); !a.IsLoopback() && !a.IsUnspecified() && !blocked[network] {
			t.Errorf("the chart lets pods reach %s", network)
		}
	}
}
