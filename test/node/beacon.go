package node

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// BeaconLocation is where a beacon of StartBeacon is.
const BeaconLocation = "custom-local"

// Beacon is a running `muster beacon`, which signs receipts.
type Beacon struct {
	UDP   string // HOST:PORT
	HTTPS string // URL, without TLS
	Key   string // file
}

var beaconReady = regexp.MustCompile(`^ready ` + BeaconLocation + ` .*udp=(\S+).* http=(\S+)`)

// StartBeacon starts a beacon at BeaconLocation, which ends with the test.
func StartBeacon(t testing.TB) *Beacon {
	t.Helper()
	b := &Beacon{Key: filepath.Join(t.TempDir(), "beacon-key")}
	if err := os.WriteFile(b.Key, []byte("sixteen letters or more"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(Path(t), "beacon", "--location", BeaconLocation, "--udp", "127.0.0.1:0", "--tcp", "", "--http", "127.0.0.1:0", "--key-file", b.Key)
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	m := beaconReady.FindStringSubmatch(line)
	if err != nil || m == nil {
		t.Fatalf("the beacon printed %q, %v\n%s", line, err, &log)
	}
	b.UDP, b.HTTPS = m[1], "http://"+m[2]+"/"
	return b
}
