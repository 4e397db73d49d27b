//go:build linux

package wrap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/wait"
)

func TestListens(t *testing.T) {
	t.Parallel()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close() // and they are not collected before
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	for _, port := range []int{tcp.Addr().(*net.TCPAddr).Port, udp.LocalAddr().(*net.UDPAddr).Port} {
		if open, known := listens("self", port); !open || !known {
			t.Errorf("port %d: open %v, known %v", port, open, known)
		}
	}
	if open, known := listens("self", 1); open || !known { // tcpmux, which nothing serves any more
		t.Errorf("a closed port: open %v, known %v", open, known)
	}
}

// screen is a log that a test reads.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// A program that opens nothing is named with the remedy.
func TestWrap_NamesAProgramThatOpensNothing(t *testing.T) {
	t.Parallel()
	m, out := play(t), &screen{}
	wrapWith(t, m, "exec sleep 100", Options{Opens: time.Millisecond, Log: slog.New(slog.NewTextHandler(out, nil))})
	ws := <-m.conns
	ws.say(json.RawMessage(game))
	wait.For(t, "the log names the program", func() error {
		if text := out.String(); !strings.Contains(text, "listens on no port 7777") {
			return fmt.Errorf("the log is:\n%s", text)
		}
		return nil
	})
	if text := out.String(); !strings.Contains(text, "GAME_PORT") || !strings.Contains(text, "its game session is not ACTIVE") {
		t.Errorf("the remedy is missing: %s", text)
	}
}

// A program calls ready: from then on it activates its game session itself, and Muster
// learns that it accepts its players.
func TestWrap_ManagesItself(t *testing.T) {
	t.Parallel()
	m := play(t)
	over := fifo(t)
	ended := wrapWith(t, m, `
muster() { curl -sS --fail-with-body --noproxy '*' -X POST -H "Authorization: Bearer $MUSTER_GAME_TOKEN" "$MUSTER_GAME_URL$1" -d "$2" || exit 9; }
muster /ready '{}'
read -r line < `+over+`
muster /session/activate
read -r line < `+over+`
muster /end
exit 0`, Options{Ready: Readiness{After: time.Hour}})
	ws := <-m.conns
	if r := m.next("ActivateServerProcess"); r["SdkToolName"] != "MusterWrap" {
		t.Errorf("first ready as %v", r)
	}
	ws.say(json.RawMessage(game))
	if r := m.next("ActivateServerProcess"); r["SdkToolName"] != "MusterHTTP" || r["Port"] != 7777.0 {
		t.Errorf("then ready as %v", r)
	}
	tell(t, over)
	if r := m.next("ActivateGameSession"); r["GameSessionId"] != "arn:g" {
		t.Errorf("activated %v", r)
	}
	tell(t, over)
	m.next("TerminateServerProcess")
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d, want the program's 0", code)
	}
}

// tell writes a line to a pipe whose reader waits for it.
func tell(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
}
