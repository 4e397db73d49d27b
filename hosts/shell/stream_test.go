package shell

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wait"
)

// pair returns both ends of a connection.
func pair(t testing.TB) (one, other *websocket.Conn) {
	t.Helper()
	accepted := make(chan *websocket.Conn, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
		}
		accepted <- ws
	}))
	t.Cleanup(server.Close)
	one, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(server.URL, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	other = <-accepted
	t.Cleanup(func() {
		one.Close()
		other.Close()
	})
	return one, other
}

// run reads a stream until the test ends, and returns the frames that overtake the data,
// and why it ended.
func run(t testing.TB, s *Stream) (control <-chan protocol.ShellFrame, ended <-chan error) {
	frames, over := make(chan protocol.ShellFrame, 10), make(chan error, 1)
	go func() {
		over <- s.Run(func(f protocol.ShellFrame) error {
			frames <- f
			return nil
		})
	}()
	t.Cleanup(s.Close)
	return frames, over
}

// Data that is not used holds up the data behind it at the window, and nothing else. Once
// it is used, everything arrives in order.
func TestStream_HoldsUpDataOnly(t *testing.T) {
	t.Parallel()
	one, other := pair(t)
	from, to := New(one), New(other)
	run(t, from)
	control, _ := run(t, to)
	data := bytes.Repeat([]byte("0123456789"), 3*protocol.ShellWindow/10)
	copied := make(chan error, 1)
	go func() { copied <- from.Copy(protocol.ShellInput, bytes.NewReader(data)) }()
	from.spent(t)
	select {
	case err := <-copied:
		t.Fatalf("everything was sent although nothing was used: %v", err)
	default:
	}
	if err := from.Send(protocol.ShellFrame{Op: protocol.ShellSignal, Payload: []byte("INT")}); err != nil {
		t.Fatal(err)
	}
	if f := <-control; string(f.Payload) != "INT" {
		t.Errorf("the signal is %v", f)
	}
	wait.For(t, "a window is held", func() error { // its last frame may come after the signal
		held := to.held()
		if held > protocol.ShellWindow {
			t.Fatalf("%d bytes wait, want a window", held)
		}
		if held < protocol.ShellWindow {
			return fmt.Errorf("%d bytes wait", held)
		}
		return nil
	})
	var got []byte
	for len(got) < len(data) {
		f, ok := to.Next()
		if !ok {
			t.Fatal("the connection ended")
		}
		got = append(got, f.Payload...)
		to.Used(f)
	}
	if err := <-copied; err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes came of %d: %v", len(got), len(data), err)
	}
}

// spent waits until the whole window of the other end is used.
func (s *Stream) spent(t testing.TB) {
	t.Helper()
	wait.For(t, "the window is used", func() error {
		s.credit.mu.Lock()
		defer s.credit.mu.Unlock()
		if s.credit.left > 0 {
			return fmt.Errorf("%d bytes are left", s.credit.left)
		}
		return nil
	})
}

func (s *Stream) held() int {
	s.inbox.mu.Lock()
	defer s.inbox.mu.Unlock()
	return s.inbox.held
}

// Frames of one byte are stored like large ones, and frames of different types keep their
// order.
func TestStream_SmallFrames(t *testing.T) {
	t.Parallel()
	one, other := pair(t)
	from, to := New(one), New(other)
	run(t, from)
	run(t, to)
	var want strings.Builder
	send := func(op protocol.ShellOp, text string) {
		t.Helper()
		for i := range len(text) {
			if err := from.Send(protocol.ShellFrame{Op: op, Payload: []byte(text[i : i+1])}); err != nil {
				t.Fatal(err)
			}
		}
		want.WriteString(text)
	}
	for range 1000 {
		send(protocol.ShellOutput, "out")
		send(protocol.ShellErrors, "err")
	}
	if err := from.Send(protocol.ShellEnd{Code: 9}.Frame()); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	var kept []protocol.ShellFrame
	for {
		f, ok := to.Next()
		if !ok {
			t.Fatal("the connection ended")
		}
		if f.Op == protocol.ShellExit {
			break
		}
		kept = append(kept, f)
		to.Used(f)
	}
	for _, f := range kept { // what was returned is not changed by what comes later
		got.Write(f.Payload)
	}
	if got.String() != want.String() {
		t.Errorf("%d bytes came in another order than the %d that were sent", got.Len(), want.Len())
	}
}

// An end that does not keep to its window, or acknowledges what it was not sent, is
// disconnected.
func TestStream_Cheats(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		frames []protocol.ShellFrame
		text   string
	}{
		"sends more than its window": {manyOf(protocol.ShellFrame{Op: protocol.ShellInput, Payload: make([]byte, protocol.MaxShellData)}, protocol.ShellWindow/protocol.MaxShellData+1), "window"},
		"sends frames without data":  {manyOf(protocol.ShellFrame{Op: protocol.ShellEOF}, maxOthers+1), "window"},
		"acknowledges nothing":       {[]protocol.ShellFrame{protocol.ShellAcknowledged(1)}, "acknowledges"},
		"sends something else":       {[]protocol.ShellFrame{{Op: 77}}, "no frame"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, other := pair(t)
			_, ended := run(t, New(other))
			for _, f := range c.frames {
				if one.WriteMessage(websocket.BinaryMessage, f.Bytes()) != nil {
					break // it is disconnected
				}
			}
			if err := <-ended; err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("ended with %v, want %q", err, c.text)
			}
		})
	}
}

func manyOf(f protocol.ShellFrame, n int) (all []protocol.ShellFrame) {
	for range n {
		all = append(all, f)
	}
	return all
}

// The end of a connection ends what waits for it.
func TestStream_Close(t *testing.T) {
	t.Parallel()
	one, other := pair(t)
	from, to := New(one), New(other)
	run(t, from)
	run(t, to)
	copied := make(chan error, 1)
	go func() { copied <- from.Copy(protocol.ShellInput, endless{}) }()
	from.spent(t)
	from.Close()
	if err := <-copied; err == nil {
		t.Error("an endless copy ended as if everything was sent")
	}
	for {
		if _, ok := to.Next(); !ok {
			break
		}
	}
	if err := from.Copy(protocol.ShellInput, endless{}); !errors.Is(err, ErrOver) {
		t.Errorf("a copy to a closed stream: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func BenchmarkStream(b *testing.B) {
	one, other := pair(b)
	from, to := New(one), New(other)
	run(b, from)
	run(b, to)
	b.SetBytes(protocol.MaxShellData)
	go from.Copy(protocol.ShellInput, io.LimitReader(endless{}, int64(b.N)*protocol.MaxShellData))
	for got := 0; got < b.N*protocol.MaxShellData; {
		f, ok := to.Next()
		if !ok {
			b.Fatal("the connection ended")
		}
		got += len(f.Payload)
		to.Used(f)
	}
}
