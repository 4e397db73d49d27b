//go:build unix

package handover

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

var anyPort = netip.MustParseAddrPort("127.0.0.1:0")

// server serves the requests that come to a listener, with its name.
type server struct {
	*http.Server
	l     *Listener
	under chan struct{} // receives when a request for /wait is under way
	wait  chan struct{} // closed when they are to be answered
}

func serve(t *testing.T, s *Sockets, at netip.AddrPort, name string) *server {
	t.Helper()
	l, err := s.Listen(at, func() (net.Listener, error) { return net.Listen("tcp", at.String()) })
	if err != nil {
		t.Fatal(err)
	}
	v := &server{l: l, under: make(chan struct{}), wait: make(chan struct{})}
	v.Server = &http.Server{ConnState: State, IdleTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			v.under <- struct{}{}
			<-v.wait
		}
		fmt.Fprint(w, name)
	})}
	go v.Serve(l)
	t.Cleanup(func() { v.Close() })
	return v
}

// client is a connection on which a test speaks HTTP.
type client struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, at net.Addr) *client {
	t.Helper()
	c, err := net.Dial("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &client{t, c, bufio.NewReader(c)}
}

func (c *client) ask(path string) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: here\r\n\r\n", path); err != nil {
		c.t.Fatal(err)
	}
}

// hear reads the answer of one of some servers.
func (c *client) hear(of ...string) {
	c.t.Helper()
	answer, err := http.ReadResponse(c.in, nil)
	if err != nil {
		c.t.Fatalf("no answer of %s: %v", of, err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || !slices.Contains(of, string(text)) {
		c.t.Errorf("the answer is of %q, %v; want %s", text, err, of)
	}
}

// What is connected stays so when a server is replaced, and what connects or is sent in between
// waits for the next one.
func TestSockets_HandOver(t *testing.T) {
	var first Sockets
	one := serve(t, &first, anyPort, "one")
	at := one.l.Addr()
	udp, err := first.ListenUDP(anyPort)
	if err != nil {
		t.Fatal(err)
	}
	idle, fresh, half, busy := dial(t, at), dial(t, at), dial(t, at), dial(t, at)
	idle.ask("/")
	idle.hear("one")
	fmt.Fprint(half, "GET / HTTP/1.1\r\nHo")
	busy.ask("/wait")
	<-one.under

	if err := first.Pass(); err != nil {
		t.Fatal(err)
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		one.l.Drain(t.Context())
	}()
	idle.ask("/")
	late := dial(t, at)
	late.ask("/")
	select {
	case <-drained:
		t.Fatal("a request is still under way")
	default:
	}
	close(one.wait)
	busy.hear("one")
	fmt.Fprint(half, "st: here\r\n\r\n")
	<-drained
	one.Close()
	udp.Close()
	sender, err := net.Dial("udp", udp.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	if _, err := fmt.Fprint(sender, "between"); err != nil {
		t.Fatal(err)
	}

	succeed(t, &first)
	next := Take()
	if os.Getenv(Variable) != "" {
		t.Error("programs that the next agent starts get the variable")
	}
	second := serve(t, next, addrOf(at), "two")
	late.hear("two")
	idle.hear("one", "two") // whoever read it first
	half.hear("one", "two")
	for _, c := range []*client{idle, fresh, half, busy, late} {
		c.ask("/")
		c.hear("two")
	}
	udp, err = next.ListenUDP(addrOf(udp.LocalAddr()))
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	datagram := make([]byte, 16)
	if n, _, err := udp.ReadFrom(datagram); err != nil || string(datagram[:n]) != "between" {
		t.Errorf("the datagram sent in between: %q, %v", datagram[:n], err)
	}
	second.l.Drain(t.Context()) // nobody follows
	if _, err := idle.in.ReadByte(); err != io.EOF {
		t.Errorf("the end of the second server: %v", err)
	}
	if c, err := net.Dial("tcp", at.String()); err == nil {
		c.Close()
		t.Error("a port is open though nothing listens there")
	}
}

// succeed sets the environment that a program has which replaces this one.
func succeed(t *testing.T, s *Sockets) {
	t.Helper()
	for _, entry := range s.Environ(nil) {
		name, value, _ := strings.Cut(entry, "=")
		t.Setenv(name, value)
	}
}

// An agent that is replaced before it has opened its ports passes on what it was given, and
// what nothing asks for is closed.
func TestSockets_Unclaimed(t *testing.T) {
	var first Sockets
	one := serve(t, &first, anyPort, "one")
	at := one.l.Addr()
	c := dial(t, at)
	c.ask("/")
	c.hear("one")
	if err := first.Pass(); err != nil {
		t.Fatal(err)
	}
	one.l.Drain(t.Context())
	succeed(t, &first)
	second := Take()
	if err := second.Pass(); err != nil {
		t.Fatal(err)
	}
	second.Drop()
	c.ask("/")
	succeed(t, second)
	third := Take()
	three := serve(t, third, addrOf(at), "three")
	c.hear("three")
	if err := third.Pass(); err != nil {
		t.Fatal(err)
	}
	three.l.Drain(t.Context())
	succeed(t, third)
	Take().Drop()
	if _, err := c.in.ReadByte(); err != io.EOF {
		t.Errorf("the end of a connection that nobody takes: %v", err)
	}
}

// A program that is started by an agent, rather than replaces it, takes nothing.
func TestTake_OfAnother(t *testing.T) {
	kept, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	t.Setenv(Variable, fmt.Sprintf("%d:l%d", os.Getppid(), kept.Fd()))
	Take().Drop()
	if _, err := kept.Stat(); err != nil {
		t.Errorf("a file that has the number of a former agent's socket: %v", err)
	}
}

// Drain does not wait longer than its context.
func TestListener_DrainInTime(t *testing.T) {
	t.Parallel()
	var s Sockets
	v := serve(t, &s, anyPort, "one")
	c := dial(t, v.l.Addr())
	c.ask("/wait")
	<-v.under
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v.l.Drain(ctx)
	close(v.wait)
	c.hear("one")
}
