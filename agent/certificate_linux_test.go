package agent

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/hosts/protocol"
)

// reading is a game server that reads the files of its certificate and tries to change them.
const reading = `#!/bin/sh
{
for name in certificate certificateChain privateKey rootCertificate; do head -n 1 ../certificates/$name.pem; done
touch ../certificates/privateKey.pem ../certificates/other 2>/dev/null || echo refused
} > said 2>&1
echo done > done
exec sleep 1000
`

// An isolated game server reads its certificate and key, and cannot change them.
func TestAgent_CertificateOfIsolated(t *testing.T) {
	t.Parallel()
	m := play(t)
	home, _, _ := whole(t, m, 1_900_000_260)
	w := want(t, "i-1", m.offer(map[string]string{"server.sh": reading}), protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1})
	w.Certificate = &protocol.Certificate{IPAddress: "192.0.2.1"}
	m.assign(w)
	m.running("i-1", 1)
	game := filepath.Join(home, "instances", "i-1", "game")
	content(t, filepath.Join(game, "done"))
	said := content(t, filepath.Join(game, "said"))
	if strings.Count(said, "BEGIN CERTIFICATE") != 3 || strings.Count(said, "BEGIN PRIVATE KEY") != 1 || !strings.Contains(said, "refused") {
		t.Errorf("it says %s", said)
	}
	m.assign()
	m.until("the instance is gone", func() bool { p := m.instance("i-1").Phase; return p == protocol.Gone || p == "" })
}
