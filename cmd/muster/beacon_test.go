package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/beacon"
	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/wait"
)

// TestBeacon measures a separate beacon in each way, as players do, and checks its receipt
// with the key.
func TestBeacon(t *testing.T) {
	t.Parallel()
	key := []byte("0123456789abcdef0123456789abcdef")
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, append(key, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	screen, out := io.Pipe()
	var complaints bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- run([]string{"beacon", "--location", "custom-a", "--udp", "127.0.0.1:0", "--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--key-file", file},
			&streams{ctx: ctx, out: out, err: &complaints})
		out.Close()
	}()
	line, err := bufio.NewReader(screen).ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, &complaints)
	}
	words := strings.Fields(line)
	if len(words) != 5 || words[0] != "ready" || words[1] != "custom-a" {
		t.Fatalf("it says %q", line)
	}
	at := func(i int) string { _, address, _ := strings.Cut(words[i], "="); return address }
	results, err := beacon.Measure(ctx, []beacon.Endpoint{
		{Location: "custom-a", UDP: at(2)}, {Location: "custom-a", TCP: at(3)}, {Location: "custom-a", HTTPS: "http://" + at(4)},
	}, beacon.MeasureOptions{Interval: 100 * time.Millisecond, Deadline: time.Minute, Timeout: 10 * time.Second, Receipt: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []beacon.Method{beacon.UDP, beacon.TCP, beacon.HTTPS} {
		if r := results[i]; r.Err != nil || r.Method != want || r.RTT <= 0 {
			t.Errorf("%s: got %+v", want, r)
		}
	}
	for _, i := range []int{0, 2} {
		receipt, err := beacon.NewReceipts(key).Check(results[i].Receipt, netip.MustParseAddr("127.0.0.1"), time.Now())
		if err != nil || receipt.Location != "custom-a" || receipt.RTT < 1 {
			t.Errorf("%s: the receipt %q says %+v, %v", results[i].Method, results[i].Receipt, receipt, err)
		}
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("told to stop, it ends with %d: %s", code, &complaints)
	}
}

// Behind a proxy, a receipt is for the client that the proxy names; others cannot name
// somebody else.
func TestBeacon_BehindProxy(t *testing.T) {
	t.Parallel()
	key := []byte("0123456789abcdef0123456789abcdef")
	trusted, err := door.ParseProxies([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		proxies door.Proxies
		want    string
	}{"trusted": {trusted, "192.0.2.7"}, "a stranger": {nil, "127.0.0.1"}} {
		web, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- webOf(beacon.Options{Location: "a", Key: key}, c.proxies).serve(ctx, web) }()
		client := &http.Client{Transport: named{"192.0.2.7"}}
		results, err := beacon.Measure(t.Context(), []beacon.Endpoint{{Location: "a", HTTPS: "http://" + web.Addr().String() + "/?kept=1"}},
			beacon.MeasureOptions{Receipt: true, Client: client, Deadline: time.Minute})
		if err != nil || results[0].Err != nil {
			t.Fatalf("%s: %+v, %v", name, results, err)
		}
		if _, err := beacon.NewReceipts(key).Check(results[0].Receipt, netip.MustParseAddr(c.want), time.Now()); err != nil {
			t.Errorf("%s: the receipt %q is not for %s", name, results[0].Receipt, c.want)
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// named sends requests for an address, as a proxy does.
type named struct{ client string }

func (n named) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Forwarded-For", n.client)
	return http.DefaultTransport.RoundTrip(r)
}

// If one part of a beacon ends, the other does not go on.
func TestBeacon_EndsWhole(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *beacon.Server, web net.Listener){
		"datagrams": func(s *beacon.Server, _ net.Listener) { s.Close() },
		"HTTP":      func(_ *beacon.Server, web net.Listener) { web.Close() },
	} {
		c := &beaconCommand{UDP: "127.0.0.1:0", HTTP: "127.0.0.1:0"}
		s, err := beacon.Listen(beacon.Options{Location: "a", UDP: c.UDP})
		if err != nil {
			t.Fatal(err)
		}
		web, err := net.Listen("tcp", c.HTTP)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.serve(t.Context(), s, web, webOf(beacon.Options{}, nil)) }()
		end(s, web)
		wait.Done(t, "the end of all after that of "+name, ended)
	}
}

func TestBeacon_Refuses(t *testing.T) {
	t.Parallel()
	short := filepath.Join(t.TempDir(), "short")
	if err := os.WriteFile(short, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--location", "a", "--udp", "", "--tcp", ""},
		{"--location", "a", "--udp", "127.0.0.1:0", "--tcp", "", "--key-file", short},
		{"--location", "a", "--udp", "nowhere", "--tcp", ""},
		{"--location", "a", "--udp", "", "--tcp", "", "--http", "127.0.0.1:0", "--trusted-proxies", "my-proxy"},
	} {
		if code, out, _ := typed(t, t.Context(), append([]string{"beacon"}, args...)...); code == 0 || out != "" {
			t.Errorf("%v: ended with %d after %q", args, code, out)
		}
	}
}
