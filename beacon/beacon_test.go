package beacon

import (
	"bytes"
	"context"
	"net"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

var key = []byte("0123456789abcdef0123456789abcdef")

func serve(t *testing.T, o Options) *Server {
	t.Helper()
	o.Location = "custom-here"
	s, err := Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

var quick = MeasureOptions{Samples: 4, Interval: 5 * time.Millisecond, Timeout: 500 * time.Millisecond}

func TestMeasure(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{UDP: "127.0.0.1:0", TCP: "127.0.0.1:0", Key: key})
	web := httptest.NewServer(Ping())
	defer web.Close()
	silent, err := net.ListenPacket("udp", "127.0.0.1:0") // receives and does not answer
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	o := quick
	o.Receipt = true
	o.Timeout = 100 * time.Millisecond
	results, err := Measure(t.Context(), []Endpoint{
		{Location: "by-udp", UDP: s.UDP()},
		{Location: "by-tcp", UDP: silent.LocalAddr().String(), TCP: s.TCP()},
		{Location: "by-https", HTTPS: web.URL},
		{Location: "nowhere"},
		{Location: "silent", UDP: silent.LocalAddr().String()},
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Method{UDP, TCP, HTTPS} {
		if r := results[i]; r.Err != nil || r.Method != want || r.RTT <= 0 {
			t.Errorf("%s: got %+v", r.Location, r)
		}
	}
	for _, r := range results[3:] {
		if r.Err == nil {
			t.Errorf("%s was reached: %+v", r.Location, r)
		}
	}
	got, err := NewReceipts(key).Check(results[0].Receipt, netip.MustParseAddr("127.0.0.1"), time.Now())
	if err != nil || got.Location != "custom-here" || got.RTT < 1 {
		t.Errorf("the receipt %q says %+v, %v", results[0].Receipt, got, err)
	}
}

func TestMeasure_Ends(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	results, err := Measure(ctx, []Endpoint{{Location: "x", UDP: "127.0.0.1:9"}}, quick)
	if err == nil || results[0].Err == nil {
		t.Errorf("got %+v, %v", results, err)
	}
}

// Whatever is received, no longer datagram is sent.
func FuzzAnswer_IsNeverLonger(f *testing.F) {
	f.Add([]byte("hello"), true)
	f.Add([]byte{0xff, 0xff, 1, 2}, false)
	f.Add(append([]byte("GLB1"), make([]byte, 60)...), true)
	f.Add(append([]byte("GLB3"), make([]byte, 296)...), true)
	f.Fuzz(func(t *testing.T, in []byte, receipts bool) {
		if len(in) == 0 || len(in) > MaxDatagram {
			return
		}
		s := &Server{opts: Options{Location: strings.Repeat("l", 64)}}
		if receipts {
			s.receipts = NewReceipts(key)
		}
		out := s.answer(make([]byte, MaxDatagram), in, netip.MustParseAddr("192.0.2.1"), time.Unix(1, 0))
		if len(out) > len(in) {
			t.Errorf("%d bytes answer %d", len(out), len(in))
		}
	})
}

func TestAnswer_Echoes(t *testing.T) {
	t.Parallel()
	s := &Server{}
	for in, want := range map[string]string{"x": "x", "\xff\xffab": "\x00\x00ab", "\xff": "\xff", "GLB1": "GLB1"} {
		got := s.answer(make([]byte, MaxDatagram), []byte(in), netip.Addr{}, time.Now())
		if !bytes.Equal(got, []byte(want)) {
			t.Errorf("%q is answered with %q, want %q", in, got, want)
		}
	}
}

func TestReceipt_Forged(t *testing.T) {
	t.Parallel()
	r, now := NewReceipts(key), time.Unix(1_000_000, 0)
	there := netip.MustParseAddr("198.51.100.1")
	good := r.issue("custom-here", 40*time.Millisecond+1, here, now)
	if got, err := r.Check(good, here, now); err != nil || got.RTT != 41 {
		t.Fatalf("got %+v, %v", got, err)
	}
	for name, err := range map[string]error{
		"another client": checkErr(r, good, there, now),
		"expired":        checkErr(r, good, here, now.Add(receiptLife+time.Second)),
		"another key":    checkErr(NewReceipts([]byte("x")), good, here, now),
		"nearer":         checkErr(r, strings.Replace(good, ".41.", ".1.", 1), here, now),
		"empty":          checkErr(r, "", here, now),
		"dots":           checkErr(r, "....", here, now),
	} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func checkErr(r *Receipts, text string, from netip.Addr, now time.Time) error {
	_, err := r.Check(text, from, now)
	return err
}

// A client cannot make the beacon believe that it answered sooner than it did.
func TestReceipt_StampIsTheBeacons(t *testing.T) {
	t.Parallel()
	r, from, now := NewReceipts(key), netip.MustParseAddr("192.0.2.1"), time.Unix(1_000_000, 0)
	ask := make([]byte, minAsk)
	copy(ask, "GLB1nonce-01")
	stamped, _ := r.answer(make([]byte, MaxDatagram), ask, "here", from, now)
	again := make([]byte, MaxDatagram)
	copy(again, stamped)
	copy(again, "GLB3")
	try := func(change func([]byte), from netip.Addr, after time.Duration) string {
		in := bytes.Clone(again)
		change(in)
		out, _ := r.answer(make([]byte, MaxDatagram), in, "here", from, now.Add(after))
		if len(out) == 0 {
			return ""
		}
		return string(out[4+nonceSize:])
	}
	same := func([]byte) {}
	got, err := r.Check(try(same, from, 30*time.Millisecond), from, now)
	if err != nil || got.RTT != 30 {
		t.Fatalf("got %+v, %v", got, err)
	}
	for name, answer := range map[string]string{
		"later stamp":     try(func(in []byte) { in[4+nonceSize+stampSize-1]++ }, from, 30*time.Millisecond),
		"another nonce":   try(func(in []byte) { in[4]++ }, from, 30*time.Millisecond),
		"another address": try(same, netip.MustParseAddr("198.51.100.1"), 30*time.Millisecond),
		"from the future": try(same, from, -time.Millisecond),
		"too old":         try(same, from, maxRTT+time.Millisecond),
	} {
		if answer != "" {
			t.Errorf("%s: answered %q", name, answer)
		}
	}
}

func TestGate(t *testing.T) {
	t.Parallel()
	var g gate
	for apart := false; !apart; { // until no two peers and no two networks share a bucket by chance
		g = newGate(Options{PerPeer: 10, PerNetwork: 15, Total: 20})
		peers, networks := map[*bucket]bool{}, map[*bucket]bool{}
		for _, from := range []string{"192.0.2.1:2000", "192.0.2.2:2000", "198.51.100.1:2000", "[2001:db8::1]:2000"} {
			peer, network, err := g.buckets(netip.MustParseAddrPort(from))
			if err != nil {
				t.Fatal(err)
			}
			peers[peer], networks[network] = true, true
		}
		apart = len(peers) == 4 && len(networks) == 3
	}
	now := time.Unix(1000, 0)
	count := func(from string, tries int) (opened int) {
		for range tries {
			if g.open(netip.MustParseAddrPort(from), now) {
				opened++
			}
		}
		return opened
	}
	for _, c := range []struct {
		from string
		want int
	}{{"192.0.2.1:2000", 10}, {"192.0.2.2:2000", 5}, {"198.51.100.1:2000", 5}, {"[2001:db8::1]:2000", 0}} {
		if got := count(c.from, 30); got != c.want {
			t.Errorf("%s: %d datagrams are answered, want %d", c.from, got, c.want)
		}
	}
	now = now.Add(time.Second)
	if got := count("[2001:db8::1]:2000", 30); got != 10 {
		t.Errorf("a second later %d are answered, want 10", got)
	}
}
