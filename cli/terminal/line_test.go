package terminal

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/internal/plain"
	"github.com/musterhq/muster/internal/wait"
)

// Short work shows nothing; longer work a line now and then, on a terminal always the same.
func TestLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		isTerminal bool
		took       time.Duration
		want       string
	}{
		"short, terminal": {true, 900 * time.Millisecond, ""},
		"long, terminal":  {true, 1300 * time.Millisecond, "\r\x1b[K1s\r\x1b[K1.2s\r\x1b[K"},
		"short, file":     {false, 29 * time.Second, ""},
		"long, file":      {false, 61 * time.Second, "30s\n1m0s\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out strings.Builder
			l := NewLine(t.Context(), NewScreen(&out))
			if c.isTerminal {
				l.isTerminal, l.due = true, time.Now().Add(quiet)
			}
			begun := time.Now()
			for time.Since(begun) < c.took {
				l.Show(func() string { return fmt.Sprint(time.Since(begun)) })
				wait.Pass(100 * time.Millisecond)
			}
			l.End()
			l.Show(func() string { return "after the end" })
			if out.String() != c.want {
				t.Errorf("%s: %q, want %q", name, out.String(), c.want)
			}
		})
	}
}

// A line does not stay on the terminal of somebody who interrupts the work.
func TestLine_Interrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var out strings.Builder
		l := NewLine(ctx, NewScreen(&out))
		l.isTerminal, l.due = true, time.Now()
		l.Show(func() string { return "half" })
		cancel()
		synctest.Wait()
		l.mu.Lock()
		defer l.mu.Unlock()
		if want := eraseLine + "half" + eraseLine; out.String() != want {
			t.Errorf("the terminal shows %q, want %q", out.String(), want)
		}
	})
}

// What is printed stays above the line, and a clock shows how long work takes.
func TestLine_PrintAndClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		l := NewLine(t.Context(), NewScreen(&out))
		l.isTerminal, l.due = true, time.Now().Add(quiet)
		stop := l.Clock("restoring")
		wait.Pass(1100 * time.Millisecond)
		l.Print("half\x1b")
		stop()
		l.End()
		if want := eraseLine + "restoring: 1s" + eraseLine + "half\\u001b\nrestoring: 1s" + eraseLine; out.String() != want {
			t.Errorf("the terminal shows %q, want %q", out.String(), want)
		}
	})
}

// Log records of several parts of a program come above the line, which stays, and each is whole.
func TestScreen_Log(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	screen := NewScreen(&out)
	l := NewLine(t.Context(), screen)
	l.isTerminal, l.due = true, time.Now()
	l.Show(func() string { return "half" })
	log := slog.New(slog.NewTextHandler(plain.NewWriter(screen), nil))
	const records = 100
	var parts sync.WaitGroup
	for range 2 {
		parts.Go(func() {
			for range records {
				log.Info("m")
			}
		})
	}
	parts.Wait()
	fmt.Fprint(screen, "Do it? ")
	fmt.Fprintln(screen, "yes")
	l.End()
	shown := strings.Split(out.String(), eraseLine)
	if shown[0] != "" || shown[1] != "half" || shown[len(shown)-1] != "Do it? yes\n" {
		t.Errorf("the terminal begins with %q and ends with %q", shown[:2], shown[len(shown)-1])
	}
	if len(shown) != 2+2*records+1 {
		t.Errorf("the line was erased %d times for %d records", len(shown)-1, 2*records)
	}
	for _, s := range shown[2 : len(shown)-1] {
		if strings.Count(s, "\n") != 1 || !strings.HasSuffix(s, "msg=m\nhalf") {
			t.Errorf("a record is shown as %q", s)
		}
	}
}
