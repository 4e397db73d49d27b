package flood

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/test/node"
)

// serve runs `muster serve`, which requires access keys.
func serve(t *testing.T) (p *node.Process, address string) {
	t.Helper()
	p, err := node.Run(node.Path(t), "serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--log-level", "error")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	u, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	return p, u.Host
}

// resident returns the resident memory of a process in bytes: now for "VmRSS:", at its
// peak for "VmHWM:".
func resident(t *testing.T, p *node.Process, which string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		t.Skipf("the system does not tell how much memory a process has: %v", err)
	}
	_, rest, _ := strings.Cut(string(text), which)
	fields := strings.Fields(rest)
	kib, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// A client without credentials cannot make the server hold in memory the bodies that it
// sends.
func TestBodies_OfStrangersAreNotHeld(t *testing.T) {
	const connections, body, most = 60, 8 << 20, 50 << 20
	p, address := serve(t)
	before := resident(t, p, "VmRSS:")
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: %s\r\nX-Amz-Target: GameLift.ListFleets\r\nContent-Length: %d\r\n\r\n", address, body)
			io.CopyN(c, zeros{}, body-1) // all but one byte; the server may close before all is sent
			io.Copy(io.Discard, c)       // until the server closes
		})
	}
	all.Wait()
	if grown := resident(t, p, "VmHWM:") - before; grown > most {
		t.Errorf("%d connections made the server grow by %d MiB", connections, grown>>20)
	} else {
		t.Logf("grew by %.1f MiB", float64(grown)/(1<<20))
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Slow connections from one address do not delay other addresses, and only a limited
// number of them is kept.
func TestConnections_SlowOnesAreFew(t *testing.T) {
	const slow, kept = 1500, 256
	_, address := serve(t)
	ended := make(chan struct{}, slow)
	for range slow {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: %s\r\n", address)
		go func() {
			io.Copy(io.Discard, c)
			ended <- struct{}{}
		}()
	}
	for range slow - kept { // those kept have 10 s for their headers
		<-ended
	}
	client := &http.Client{Transport: &http.Transport{
		DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext,
	}}
	defer client.CloseIdleConnections()
	begun := time.Now()
	answer, err := client.Get("http://" + address + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	t.Logf("with %d slow connections beside it a request took %s", kept, time.Since(begun))
	if answer.StatusCode != http.StatusOK {
		t.Errorf("status %d", answer.StatusCode)
	}
}
