package door

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/internal/wait"
)

// pipes is a listener whose connections are in-memory pipes, so that time is virtual.
type pipes struct {
	dialed chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{dialed: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialed:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// dial connects from an address.
func (p *pipes) dial(from string) net.Conn {
	here, there := net.Pipe()
	p.dialed <- wire{there, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(from))}
	return here
}

type wire struct {
	net.Conn
	from net.Addr
}

func (w wire) RemoteAddr() net.Addr { return w.from }

// served runs a server behind a door in virtual time.
func served(t *testing.T, o Options, h http.HandlerFunc, play func(d *Door, p *pipes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d, p := New(o), newPipes()
		s := &http.Server{Handler: d.Handler(h), ConnContext: d.ConnContext, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
		go s.Serve(d.Listen(p))
		play(d, p)
		s.Close()
		wait.Pass(time.Second) // net/http gives clients half a second to read a response
		if open, strangers := d.conns.count(); open != 0 || strangers != 0 || len(d.conns.of) != 0 {
			t.Errorf("at the end %d connections are open, %d strangers", open, strangers)
		}
		if held := d.budget.inUse(); held != 0 {
			t.Errorf("at the end %d bytes are held", held)
		}
	})
}

// send sends a request and returns the response's status, 0 if there is none, and how
// long the connection stays open after the request.
func send(t *testing.T, c net.Conn, text string) (status int, took time.Duration) {
	t.Helper()
	begun := time.Now()
	go io.WriteString(c, text)
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, time.Since(begun)
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		t.Error(err)
	}
	return answer.StatusCode, time.Since(begun)
}

// Whatever a handler does with a body that does not arrive, and whatever the method,
// the connection ends in time.
func TestHandler_StalledBody(t *testing.T) {
	t.Parallel()
	const timeout = 30 * time.Second
	handlers := map[string]http.HandlerFunc{
		"reads": func(w http.ResponseWriter, r *http.Request) {
			if err := ReadBody(r, new(bytes.Buffer), 1<<20); err == nil {
				t.Error("half a body is a whole one")
			}
			w.WriteHeader(http.StatusBadRequest)
		},
		"refuses at once":   func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"says nothing":      func(w http.ResponseWriter, r *http.Request) {},
		"answers at length": func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, 100_000)) },
		"closes the body":   func(w http.ResponseWriter, r *http.Request) { r.Body.Close() },
		"is patient":        func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, Patient(w, r.Body, timeout)) },
	}
	for name, h := range handlers {
		for _, method := range []string{"POST", "PUT", "PATCH", "GET", "HEAD", "DELETE", "OPTIONS", "LOCK"} {
			for _, how := range []string{"Content-Length: 10", "Content-Length: 8000000", "Transfer-Encoding: chunked", "Content-Length: 10\r\nExpect: 100-continue"} {
				served(t, Options{BodyTimeout: timeout}, h, func(_ *Door, p *pipes) {
					c := p.dial("192.0.2.1:1")
					defer c.Close()
					begun := time.Now()
					go io.WriteString(c, method+" / HTTP/1.1\r\nHost: muster.test\r\n"+how+"\r\n\r\n1\r\n")
					_, err := io.Copy(io.Discard, c) // until the server closes it
					if took := time.Since(begun); err != nil || took > timeout+linger+time.Second {
						t.Errorf("%s, %s, %s: ended after %s, %v", name, method, how, took, err)
					}
				})
			}
		}
	}
}

// A client receives the response of a handler that refuses without reading the body,
// even if it sends everything before it reads; a client that sends nothing is not
// waited for long.
func TestHandler_RefusalIsHeard(t *testing.T) {
	t.Parallel()
	refuse := func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusForbidden) }
	served(t, Options{}, refuse, func(_ *Door, p *pipes) {
		for _, arrives := range []int{0, 10, 2 << 20, 4 << 20} {
			c := p.dial("192.0.2.1:1")
			head := fmt.Sprintf("POST / HTTP/1.1\r\nHost: muster.test\r\nContent-Length: %d\r\n\r\n", 4<<20)
			status, took := send(t, c, head+strings.Repeat("x", arrives))
			if status != http.StatusForbidden || took > linger {
				t.Errorf("%d bytes arrive: status %d after %s", arrives, status, took)
			}
			c.Close()
		}
	})
}

// A handler may take longer than the body's timeout.
func TestHandler_WorksAfterTheBody(t *testing.T) {
	t.Parallel()
	work := func(w http.ResponseWriter, r *http.Request) {
		if err := ReadBody(r, new(bytes.Buffer), 100); err != nil {
			t.Error(err)
		}
		select {
		case <-r.Context().Done():
			t.Error("the request ended while its handler worked")
		case <-time.After(time.Minute):
		}
	}
	served(t, Options{BodyTimeout: time.Second}, work, func(_ *Door, p *pipes) {
		c := p.dial("192.0.2.1:1")
		defer c.Close()
		for _, body := range []string{"Content-Length: 3\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "\r\n"} {
			if status, _ := send(t, c, "POST / HTTP/1.1\r\nHost: muster.test\r\n"+body); status != 200 {
				t.Errorf("%q: status %d", body, status)
			}
		}
	})
}

// Bodies are limited in size, individually and in total.
func TestReadBody(t *testing.T) {
	t.Parallel()
	const most = 200 << 10
	held := make(chan int, 1)
	hold := make(chan struct{})
	h := func(w http.ResponseWriter, r *http.Request) {
		var into bytes.Buffer
		err := ReadBody(r, &into, most)
		if r.URL.Path == "/hold" {
			held <- into.Len()
			<-hold
		}
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		} else if errors.Is(err, ErrBusy) {
			w.WriteHeader(http.StatusServiceUnavailable)
		} else if err != nil || strings.Trim(into.String(), "x") != "" {
			t.Errorf("%v, %d bytes", err, into.Len())
		} else {
			fmt.Fprint(w, into.Len())
		}
	}
	post := func(path string, n int, chunked bool) string {
		if chunked {
			return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: muster.test\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", path, n, strings.Repeat("x", n))
		}
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: muster.test\r\nContent-Length: %d\r\n\r\n%s", path, n, strings.Repeat("x", n))
	}
	served(t, Options{BodyBytes: 1 << 20}, h, func(d *Door, p *pipes) {
		for _, chunked := range []bool{false, true} {
			for n, want := range map[int]int{1: 200, 64 << 10: 200, most: 200, most + 1: 413, 2 * most: 413} {
				c := p.dial("192.0.2.1:1")
				if status, _ := send(t, c, post("/", n, chunked)); status != want {
					t.Errorf("%d bytes, chunked %v: status %d, want %d", n, chunked, status, want)
				}
				c.Close()
			}
		}
		holder := p.dial("192.0.2.1:1") // uses most of its network's budget
		answered := make(chan int)
		go func() {
			status, _ := send(t, holder, post("/hold", most, false))
			answered <- status
		}()
		if n := <-held; n != most {
			t.Errorf("%d bytes are held, want %d", n, most)
		}
		for from, want := range map[string]int{"192.0.2.1:2": 503, "192.0.2.2:1": 200} {
			c := p.dial(from)
			if status, _ := send(t, c, post("/", most, false)); status != want {
				t.Errorf("beside it, from %s: status %d, want %d", from, status, want)
			}
			c.Close()
		}
		close(hold)
		if status := <-answered; status != 200 {
			t.Errorf("the holder gets %d", status)
		}
		holder.Close()
	})
}

// ended reports whether the server has closed a connection.
func ended(c net.Conn) bool {
	synctest.Wait()
	c.SetReadDeadline(time.Now().Add(time.Millisecond))
	defer c.SetReadDeadline(time.Time{})
	_, err := c.Read(make([]byte, 1))
	return err == io.EOF
}

// A network may have a limited number of strangers; another one closes the oldest.
// Connections of other networks, of proxies, and known ones stay open.
func TestListen_Strangers(t *testing.T) {
	t.Parallel()
	proxies, err := ParseProxies([]string{"198.51.100.1"})
	if err != nil {
		t.Fatal(err)
	}
	h := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/login" {
			Known(r)
		}
	}
	served(t, Options{Strangers: 3, Proxies: proxies}, h, func(d *Door, p *pipes) {
		var other, first []net.Conn
		for range 3 {
			other = append(other, p.dial("192.0.2.9:1"))
			first = append(first, p.dial("192.0.2.1:1"))
		}
		for range 10 {
			defer p.dial("198.51.100.1:1").Close()
		}
		if status, _ := send(t, first[0], "GET /login HTTP/1.1\r\nHost: muster.test\r\n\r\n"); status != 200 {
			t.Fatalf("login: %d", status)
		}
		more := []net.Conn{p.dial("192.0.2.1:2")} // replaces the one that became known
		for i, c := range first {
			if ended(c) {
				t.Errorf("connection %d is closed with three strangers", i)
			}
		}
		for range 3 {
			more = append(more, p.dial("192.0.2.1:2"))
		}
		for i, c := range append(first, more...) {
			if want := 1 <= i && i <= 3; ended(c) != want {
				t.Errorf("connection %d is closed: %v, want %v", i, !want, want)
			}
		}
		for i, c := range other {
			if ended(c) {
				t.Errorf("connection %d of another network is closed", i)
			}
		}
		if n := d.conns.closed.Load(); n != 3 {
			t.Errorf("%d were closed, want 3", n)
		}
	})
}

// If the maximum number of connections is open, a new one closes the oldest stranger;
// if there is no stranger, the new one is refused.
func TestListen_Full(t *testing.T) {
	t.Parallel()
	h := func(w http.ResponseWriter, r *http.Request) { Known(r) }
	served(t, Options{Connections: 4}, h, func(d *Door, p *pipes) {
		var all []net.Conn
		for i := range 5 {
			all = append(all, p.dial(fmt.Sprintf("192.0.2.%d:1", i+1)))
		}
		for i, c := range all {
			if want := i == 0; ended(c) != want {
				t.Errorf("connection %d is closed: %v, want %v", i, !want, want)
			}
			if i > 0 {
				send(t, c, "GET / HTTP/1.1\r\nHost: muster.test\r\n\r\n")
			}
		}
		if late := p.dial("192.0.2.99:1"); !ended(late) {
			t.Error("a fifth known connection is taken on")
		}
		all[1].Close()
		synctest.Wait()
		if late := p.dial("192.0.2.99:1"); ended(late) {
			t.Error("there is room, but nobody is let in")
		}
	})
}

// A node of the cell and a trusted proxy can name the client's address; others cannot.
func TestHandler_ClientAddress(t *testing.T) {
	t.Parallel()
	proxies, err := ParseProxies([]string{"198.51.100.1"})
	if err != nil {
		t.Fatal(err)
	}
	forwarded := func(r *http.Request) (string, bool) {
		return r.Header.Get("From-Node"), r.Header.Get("From-Node") != ""
	}
	h := func(w http.ResponseWriter, r *http.Request) {
		Known(r)
		fmt.Fprintf(w, "%s %s", Client(r), w.Header().Get(KnownHeader))
	}
	served(t, Options{Proxies: proxies, Forwarded: forwarded}, h, func(_ *Door, p *pipes) {
		for _, c := range []struct{ from, header, want string }{
			{"192.0.2.1:1", "X-Forwarded-For: 192.0.2.7", "192.0.2.1 "},
			{"198.51.100.1:1", "X-Forwarded-For: 192.0.2.7", "192.0.2.7 "},
			{"[2001:db8::9]:1", "X-Forwarded-For: 192.0.2.7", "2001:db8::9 "},
			{"192.0.2.1:1", "From-Node: 192.0.2.8:99", "192.0.2.8 true"},
		} {
			conn := p.dial(c.from)
			go io.WriteString(conn, "GET / HTTP/1.0\r\n"+c.header+"\r\n\r\n")
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			if body, _ := io.ReadAll(answer.Body); string(body) != c.want {
				t.Errorf("%+v: got %q", c, body)
			}
			conn.Close()
		}
	})
}

// Without a door, Known and ReadBody work, and count nothing.
func TestKnown_WithoutADoor(t *testing.T) {
	t.Parallel()
	r, _ := http.NewRequestWithContext(context.Background(), "POST", "/", strings.NewReader("abc"))
	Known(r)
	var into bytes.Buffer
	if err := ReadBody(r, &into, 3); err != nil || into.String() != "abc" {
		t.Errorf("%q, %v", into.String(), err)
	}
	if err := ReadBody(r, &into, 2); err == nil {
		t.Error("three bytes are at most two")
	}
}

// A request for a WebSocket that announces a body reaches no handler: the bytes that
// follow belong to the WebSocket.
func TestHandler_WebSocketWithBody(t *testing.T) {
	t.Parallel()
	h := func(http.ResponseWriter, *http.Request) { t.Error("a handler sees it") }
	served(t, Options{}, h, func(_ *Door, p *pipes) {
		for _, length := range []string{"Content-Length: 5", "Transfer-Encoding: chunked"} {
			conn := p.dial("192.0.2.1:1")
			go io.WriteString(conn, "GET / HTTP/1.1\r\nHost: muster.test\r\nConnection: upgrade\r\nUpgrade: h2c, WebSocket\r\n"+length+"\r\n\r\n")
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || answer.StatusCode != http.StatusBadRequest {
				t.Errorf("%s: %v, %v", length, answer, err)
			}
			conn.Close()
		}
	})
}
