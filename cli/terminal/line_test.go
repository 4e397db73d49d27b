package terminal

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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
			l := NewLine(t.Context(), &out)
			if c.isTerminal {
				l.isTerminal, l.due = true, time.Now().Add(quiet)
			}
			begun := time.Now()
			for time.Since(begun) < c.took {
				l.Show(func() string { return fmt.Sprint(time.Since(begun)) })
				time.Sleep(100 * time.Millisecond)
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
		l := NewLine(ctx, &out)
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

// What is printed meanwhile stays above the line, and a clock shows how long work takes.
func TestLine_PrintAndClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		l := NewLine(t.Context(), &out)
		l.isTerminal, l.due = true, time.Now().Add(quiet)
		stop := l.Clock("restoring")
		time.Sleep(1100 * time.Millisecond)
		l.Print("half\x1b")
		stop()
		l.End()
		if want := eraseLine + "restoring: 1s" + eraseLine + "half\\u001b\n"; out.String() != want {
			t.Errorf("the terminal shows %q, want %q", out.String(), want)
		}
	})
}
