//go:build unix

package instance

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wait"
)

// The end of a log that cannot be read is an error, whose cause the agent's own log has.
func TestInstance_TailFails(t *testing.T) {
	play(t, func(s *stage) {
		var log bytes.Buffer
		s.machine.Log = slog.New(slog.NewTextHandler(&log, nil))
		s.begin(true)
		s.want(func(d *protocol.Desired) { d.Runtime.Processes[0].Concurrent = 1 })
		wait.Settle(time.Minute)
		id := s.processes()[0]
		output := filepath.Join(t.TempDir(), "output")
		s.mu.Lock()
		for _, r := range s.living {
			r.Stdout, r.Stderr = output, output
		}
		s.mu.Unlock()
		if out, err := s.i.Tail(t.Context(), id, 10); err != nil || len(out.Streams) != 2 {
			t.Errorf("of a process that has written nothing: %+v, %v", out, err)
		}
		if err := os.Mkdir(output, 0o700); err != nil {
			t.Fatal(err)
		}
		if out, err := s.i.Tail(t.Context(), id, 10); err == nil {
			t.Errorf("what cannot be read is %+v", out)
		}
		if text := log.String(); !strings.Contains(text, "is a directory") || !strings.Contains(text, id) {
			t.Errorf("the agent's log has no cause:\n%s", text)
		}
	})
}
