//go:build unix

package agent

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/agent/disk"
	"github.com/musterhq/muster/agent/link"
	"github.com/musterhq/muster/hosts/protocol"
)

var forging = ed25519.NewKeyFromSeed([]byte("another key, of 32 bytes as well"))

// refused waits for an instance to fail because its build is not Muster's, and checks
// that no part of the build is on the machine.
func (m *muster) refused(home, id, why string) {
	m.Helper()
	m.Until(id+" has failed", func() bool { return m.Instance(id).Phase == protocol.Failed })
	if i := m.Instance(id); i.Code != "FLEET_BINARY_DOWNLOAD_FAILED" || !strings.Contains(i.Cause, "is refused") || !strings.Contains(i.Cause, why) {
		m.Errorf("%s failed with %s: %s; want %q", id, i.Code, i.Cause, why)
	}
	for _, where := range []string{"cache/archives/*", "cache/builds/*", "instances/" + id + "/game"} {
		if left, _ := filepath.Glob(filepath.Join(home, where)); len(left) > 0 {
			m.Errorf("%s: there is %v", id, left)
		}
	}
}

// A build not signed with the key of the server that the machine joined is not even
// downloaded.
func TestAgent_RefusesBuildsOfOthers(t *testing.T) {
	t.Parallel()
	m := play(t)
	home := root(t)
	m.start(home, nil)
	good := m.offer(map[string]string{"server.sh": patient})
	unsigned, forged, swapped := good, good.Sign(forging), m.offer(map[string]string{"server.sh": failing})
	unsigned.Signature = ""
	swapped.Signature = good.Signature
	process := protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1}
	m.Assign(want(t, "i-unsigned", unsigned, process), want(t, "i-forged", forged, process), want(t, "i-swapped", swapped, process))
	m.refused(home, "i-unsigned", "signature of Muster is missing")
	m.refused(home, "i-forged", "not Muster's")
	m.refused(home, "i-swapped", "not Muster's")
	m.Assign(want(t, "i-unsigned", good, process)) // a correct build repairs it
	m.running("i-unsigned", 1)
}

// A machine that joined a server without a key learns it from the first server that has
// one, over its link, and accepts no other from then on.
func TestAgent_LearnsBuildKeyOnce(t *testing.T) {
	t.Parallel()
	m := play(t)
	m.BuildKey = nil
	home := root(t)
	first := m.start(home, nil)
	good := m.offer(map[string]string{"server.sh": patient})
	process := protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1}
	unsigned := good
	unsigned.Signature = ""
	m.Assign(want(t, "i-1", unsigned, process))
	m.refused(home, "i-1", "does not know yet")

	m.Set(func() { m.BuildKey = signing.Public().(ed25519.PublicKey) })
	m.Assign(want(t, "i-1", good, process))
	m.running("i-1", 1)
	path := filepath.Join(home, credentialFile)
	var kept link.Credential
	if err := disk.Read(path, &kept); err != nil || !kept.BuildKey.Equal(signing.Public()) || kept.Secret != "secret" {
		t.Fatalf("on the disk is %+v, %v", kept, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its file is %v, %v", info.Mode(), err)
	}

	first.stop()
	m.start(home, nil)
	m.Until("the agent is back", func() bool { return m.Hellos == 2 })
	other := m.offer(map[string]string{"server.sh": failing}).Sign(forging)
	m.Desire(protocol.Assign{Instances: []protocol.Desired{want(t, "i-2", other, process)}, BuildKey: forging.Public().(ed25519.PublicKey)})
	m.Until("i-2 has failed", func() bool { return m.Instance("i-2").Phase == protocol.Failed })
	if cause := m.Instance("i-2").Cause; !strings.Contains(cause, "join anew") {
		t.Errorf("i-2 failed with %q", cause)
	}
	if err := disk.Read(path, &kept); err != nil || !kept.BuildKey.Equal(signing.Public()) {
		t.Errorf("now on the disk is %+v, %v", kept, err)
	}
	if _, err := os.Stat(filepath.Join(home, "cache", "archives", other.SHA256)); err == nil {
		t.Error("the archive was downloaded")
	}
}
