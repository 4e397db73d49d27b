package engine

import (
	"bytes"
	"net"
	"os/exec"
	"testing"

	"github.com/musterhq/muster/agent/engine/enginetest"
)

// A container that comes or goes must not change the address by which the others reach this
// machine. A member with a lower address than all others is what changes it for certain.
func TestPodman_BridgeKeepsItsAddress(t *testing.T) {
	b := newBench(t, enginetest.Podman(t))
	removeBridge(t)
	r := b.start(t, b.group("0", []string{"game"}))
	defer stop(t, r)
	before := bridgeOf(t, r)
	addLowest(t, before.Name, "lowest0", "02:00:00:00:00:01")
	if now := bridgeOf(t, r); !bytes.Equal(now.HardwareAddr, before.HardwareAddr) {
		t.Errorf("the bridge's address was %s and is %s", before.HardwareAddr, now.HardwareAddr)
	}
}

// The bridge of groups that a former agent started is taken care of, too.
func TestPodman_BridgeOfFoundGroups(t *testing.T) {
	b := newBench(t, enginetest.Podman(t))
	removeBridge(t)
	first := b.open(t, b.opts)
	first.machine.podman = false // so that it does nothing for the bridge
	r, err := first.Start(t.Context(), b.group("0", []string{"game"}))
	if err != nil {
		t.Fatal(err)
	}
	addLowest(t, bridgeOf(t, r).Name, "lowest0", "02:00:00:00:00:02")
	changed := bridgeOf(t, r)
	found, err := b.engine.Find(t.Context())
	if err != nil || len(found) != 1 {
		t.Fatalf("found %d: %v", len(found), err)
	}
	defer stop(t, found[0])
	addLowest(t, changed.Name, "lowest1", "02:00:00:00:00:01")
	if now := bridgeOf(t, r); !bytes.Equal(now.HardwareAddr, changed.HardwareAddr) {
		t.Errorf("the bridge's address was %s and is %s", changed.HardwareAddr, now.HardwareAddr)
	}
}

// bridgeOf returns the bridge of a group's network.
func bridgeOf(t *testing.T, r *Running) *net.Interface {
	t.Helper()
	bridge, err := interfaceWith(r.gateway())
	if err != nil || bridge == nil {
		t.Fatalf("no interface has the gateway's address %s: %v", r.gateway(), err)
	}
	return bridge
}

// removeBridge removes the bridge that another test of this network has left.
func removeBridge(t *testing.T) {
	t.Helper()
	if _, err := net.InterfaceByName("podman0"); err == nil {
		ip(t, "link", "delete", "podman0")
	}
}

// addLowest adds a member with an address to a bridge.
func addLowest(t *testing.T, bridge, name, address string) {
	t.Helper()
	ip(t, "link", "add", name, "address", address, "type", "veth", "peer", "name", name+"p")
	t.Cleanup(func() { ip(t, "link", "delete", name) })
	ip(t, "link", "set", name, "master", bridge)
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %v: %v\n%s", args, err, out)
	}
}
