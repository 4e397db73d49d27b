package door

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/internal/wait"
)

// paced runs f in virtual time with both ends of a connection behind a door; only f
// reads the client's end.
func paced(t *testing.T, f func(t *testing.T, d *Door, server, client net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := New(Options{})
		here, there := net.Pipe()
		server, ok := d.conns.enter(wire{there, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}})
		if !ok {
			t.Fatal("there is no room")
		}
		f(t, d, server, here)
		server.Close()
		here.Close()
		wait.Pass(time.Hour) // so that readers see that
	})
}

// trickle reads a few bytes at a time until the other end is closed.
func trickle(c net.Conn, bytes int, every time.Duration) (read int) {
	for buffer := make([]byte, bytes); ; wait.Pass(every) {
		n, err := io.ReadFull(c, buffer)
		if read += n; err != nil {
			return read
		}
	}
}

// A client that reads too slowly is disconnected; one that reads fast enough is not,
// however long it takes.
func TestPace(t *testing.T) {
	t.Parallel()
	const long = 64 << 10
	for name, tt := range map[string]struct {
		bytes int
		every time.Duration
		whole bool
	}{
		"a byte a second":           {1, time.Second, false},
		"500 bytes a second":        {500, time.Second, false},
		"a byte every millisecond":  {1, 900 * time.Microsecond, true},
		"2 KiB a second":            {2 << 10, time.Second, true},
		"40 KiB every 20 seconds":   {40 << 10, 20 * time.Second, true},
		"20 KiB every 50 seconds":   {20 << 10, 50 * time.Second, false}, // stalls for too long
		"as fast as it can be sent": {64 << 10, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			paced(t, func(t *testing.T, d *Door, server, client net.Conn) {
				begun, read := time.Now(), make(chan int)
				go func() { read <- trickle(client, tt.bytes, tt.every) }()
				n, err := server.Write(make([]byte, long))
				took := time.Since(begun)
				server.Close()
				if got := <-read; got != n {
					t.Errorf("%d bytes were written, and %d read", n, got)
				}
				if tt.whole && (err != nil || n != long) || !tt.whole && !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%d bytes in %s: %v", n, took, err)
				}
				if slow := d.conns.slow.Load(); (slow == 1) == tt.whole {
					t.Errorf("%d connections count as slow", slow)
				}
				if least := time.Duration(n) * time.Second / slowest; !tt.whole && took > least+2*time.Minute {
					t.Errorf("cut off after %s", took)
				}
			})
		})
	}
}

// In a stream with few messages over days, each message has the full patience: time in
// which nothing is written does not count.
func TestPace_Streams(t *testing.T) {
	t.Parallel()
	paced(t, func(t *testing.T, _ *Door, server, client net.Conn) {
		go io.Copy(io.Discard, client)
		for range 10_000 {
			if _, err := server.Write([]byte("an event\n")); err != nil {
				t.Fatal(err)
			}
			wait.Pass(time.Minute)
		}
	})
}

// Patience is used up while nothing is read, and regained with bytes that are read.
func TestPace_Patience(t *testing.T) {
	t.Parallel()
	paced(t, func(t *testing.T, _ *Door, server, client net.Conn) {
		write := func(bytes int, after time.Duration) error {
			go func() {
				wait.Pass(after)
				io.ReadFull(client, make([]byte, bytes))
			}()
			_, err := server.Write(make([]byte, bytes))
			return err
		}
		for n := range 5 {
			if err := write(1, 25*time.Second); err != nil {
				t.Fatalf("stood still for 25 s the %d. time: %v", n+1, err)
			}
			if err := write(32<<10, 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := write(1, 25*time.Second); err != nil {
			t.Fatal(err)
		}
		if err := write(1, 25*time.Second); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("stood still for 50 s: %v", err)
		}
	})
}

// A deadline set by a handler applies if it is earlier, even during a write.
func TestPace_OtherDeadlines(t *testing.T) {
	t.Parallel()
	paced(t, func(t *testing.T, d *Door, server, client net.Conn) {
		begun := time.Now()
		server.SetWriteDeadline(begun.Add(3 * time.Second))
		if _, err := server.Write(make([]byte, 10)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != 3*time.Second {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		if d.conns.slow.Load() != 0 {
			t.Error("the connection counts as slow")
		}
		begun = time.Now()
		server.SetDeadline(begun.Add(time.Hour))
		time.AfterFunc(4*time.Second, func() { server.SetWriteDeadline(time.Now()) })
		if _, err := server.Write(make([]byte, 10)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != 4*time.Second {
			t.Errorf("ended by another goroutine after %s: %v", time.Since(begun), err)
		}
		server.SetDeadline(time.Time{})
		go io.Copy(io.Discard, client)
		if _, err := server.Write(make([]byte, 10)); err != nil {
			t.Errorf("without a deadline: %v", err)
		}
	})
}

// A real client that stops reading a large response is disconnected, and a handler that
// would write forever ends.
func TestHandler_SlowReader(t *testing.T) {
	t.Parallel()
	d := New(Options{WritePatience: 50 * time.Millisecond})
	ended := make(chan error, 1)
	s := httptest.NewUnstartedServer(d.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		flusher := http.NewResponseController(w)
		for { // small pieces, since each write has the time that its length allows
			w.Write(make([]byte, 64))
			if err := flusher.Flush(); err != nil {
				ended <- err
				return
			}
		}
	})))
	s.Listener = d.Listen(s.Listener)
	s.Config.ConnContext = d.ConnContext
	s.Start()
	defer s.Close()
	var dialer net.Dialer
	c, err := dialer.DialContext(context.Background(), "tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: muster\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the handler ended with %v", err)
	}
}
