//go:build linux

package wrap

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A game session becomes ACTIVE once the program's port is bound, by UDP or TCP, and not before.
func TestReady_Port(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"udp", "tcp"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := puppetry(t, Options{Opens: 2 * time.Second})
			p.logged("until it does, its game session is not ACTIVE")
			p.do(fmt.Sprintf("%s %d", kind, freePort(t))) // another one
			p.silent("ActivateGameSession")
			p.do(fmt.Sprintf("%s %d", kind, p.port))
			p.next("ActivateGameSession")
		})
	}
}

// With a line, the port does not count.
func TestReady_Line(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{"say", "cry"} {
		p := puppetry(t, Options{Opens: time.Second, Ready: Readiness{Line: regexp.MustCompile(`^ready in \d+ ms$`)}, Watched: true})
		p.do(fmt.Sprintf("udp %d", p.port))
		p.do(stream + " not ready in 12 ms")
		p.logged("no line of its output matches")
		p.silent("ActivateGameSession")
		p.do(stream + " ready in 12 ms")
		p.next("ActivateGameSession")
	}
}

// A program that is never seen to be ready is taken to be after a time, where one is given.
func TestReady_After(t *testing.T) {
	t.Parallel()
	p := puppetry(t, Options{Ready: Readiness{After: 10 * time.Millisecond, Line: regexp.MustCompile("never")}})
	p.next("ActivateGameSession")
}

// Lines are separated however they are written, and long ones are cut.
func TestLines(t *testing.T) {
	t.Parallel()
	var heard []string
	l := &lines{to: &strings.Builder{}, heard: func(line []byte) { heard = append(heard, string(line)) }}
	text := "one\r\ntwo\n" + strings.Repeat("x", 3*keptLine) + "\n\nlast"
	for from := 0; from < len(text); from += 7 {
		if n, err := l.Write([]byte(text[from:min(from+7, len(text))])); err != nil || n == 0 {
			t.Fatal(n, err)
		}
	}
	want := []string{"one", "two", strings.Repeat("x", keptLine), ""}
	if strings.Join(heard, "|") != strings.Join(want, "|") {
		t.Errorf("heard %q", heard)
	}
	if got := l.kept(); len(got) != 5 || got[4] != "last" {
		t.Errorf("kept %q", got)
	}
	for n := range 3 * keptLines {
		fmt.Fprintln(l, n)
	}
	if got := l.kept(); len(got) != keptLines || got[keptLines-1] != fmt.Sprint(3*keptLines-1) {
		t.Errorf("%d lines are kept, the last %q", len(got), got[len(got)-1])
	}
}
