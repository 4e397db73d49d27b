package gameapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// wire is a connection on which a test speaks HTTP.
type wire struct {
	t  *testing.T
	s  *Server
	c  net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, s *Server) *wire {
	t.Helper()
	c, err := net.Dial("tcp", s.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return &wire{t, s, c, bufio.NewReader(c)}
}

// health sends POST /health with a token, and returns the status and whether the connection
// stays.
func (w *wire) health(token string) (status int, stays bool) {
	w.t.Helper()
	fmt.Fprintf(w.c, "POST /v1/health HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: 0\r\n\r\n", w.s.Address(), token)
	return w.answer()
}

// answer reads an answer.
func (w *wire) answer() (status int, stays bool) {
	w.t.Helper()
	answer, err := http.ReadResponse(w.in, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, answer.Body) // of a few bytes
	answer.Body.Close()
	return answer.StatusCode, !answer.Close
}

// closed waits until the server closes the connection.
func (w *wire) closed() {
	w.t.Helper()
	if _, err := w.in.ReadByte(); err != io.EOF {
		w.t.Errorf("the connection is not closed: %v", err)
	}
}

// A program has a limited number of connections, and others have theirs.
func TestServer_ConnectionsOfOneProcess(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	var all []*wire
	for range maxOpen {
		w := dial(t, s)
		if status, stays := w.health("token-a"); status != 204 || !stays {
			t.Fatalf("a connection within the limit: %d, it stays: %v", status, stays)
		}
		all = append(all, w)
	}
	more := dial(t, s)
	if status, stays := more.health("token-a"); status != http.StatusTooManyRequests || stays {
		t.Errorf("one more: %d, it stays: %v", status, stays)
	}
	more.closed()
	if status, stays := dial(t, s).health("token-b"); status != 204 || !stays {
		t.Errorf("the other process: %d, it stays: %v", status, stays)
	}
	if status, _ := all[0].health("token-a"); status != 204 {
		t.Errorf("a connection that is used again: %d", status)
	}
	if status, _ := all[0].health("token-b"); status != 204 { // a proxy of both
		t.Errorf("a connection that another process uses: %d", status)
	}
	if status, _ := dial(t, s).health("token-a"); status != 204 {
		t.Errorf("a connection in place of another: %d", status)
	}
	s.Forget("a", false)
	for _, w := range all[1:] {
		w.closed()
	}
	s.conns.mu.Lock()
	defer s.conns.mu.Unlock()
	if left := len(s.conns.of); left != 1 {
		t.Errorf("connections of %d processes are counted", left)
	}
}

// Connections without a token do not keep game servers out.
func TestServer_Strangers(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	known := dial(t, s)
	if status, _ := known.health("token-b"); status != 204 {
		t.Fatalf("got %d", status)
	}
	first := dial(t, s)
	if status, stays := first.health("no token"); status != http.StatusUnauthorized || !stays {
		t.Errorf("without a token: %d, it stays: %v", status, stays)
	}
	for range maxStrangers {
		dial(t, s)
	}
	first.closed()
	if status, _ := dial(t, s).health("token-a"); status != 204 {
		t.Errorf("a game server behind strangers: %d", status)
	}
	if status, _ := known.health("token-b"); status != 204 {
		t.Errorf("a game server that was there before: %d", status)
	}
}
