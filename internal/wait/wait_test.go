package wait

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// failing is a test that remembers how it failed.
type failing struct {
	testing.TB
	text string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	panic(f)
}

// failure returns what a wait fails with, or "".
func failure(t *testing.T, wait func(testing.TB)) (text string) {
	t.Helper()
	f := &failing{TB: t}
	defer func() {
		if r := recover(); r != nil && r != any(f) {
			panic(r)
		}
		text = f.text
	}()
	wait(f)
	return ""
}

// A wait ends as soon as its condition holds, and a failure names what was waited for and what
// was seen last.
func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		third := func() error {
			if looks++; looks < 3 {
				return fmt.Errorf("%d looks", looks)
			}
			return nil
		}
		if text := failure(t, func(t testing.TB) { For(t, "there were 3 looks", third) }); text != "" || looks != 3 {
			t.Errorf("after %d looks: %q", looks, text)
		}
		begin := time.Now()
		text := failure(t, func(t testing.TB) {
			For(t, "pigs fly", func() error { return errors.New("2 pigs on the ground") })
		})
		if !strings.Contains(text, "until pigs fly; last: 2 pigs on the ground") {
			t.Errorf("failed with %q", text)
		}
		if took := time.Since(begin); took < Patience() || took > Patience()+time.Second {
			t.Errorf("waited %v, want %v", took, Patience())
		}
	})
}

func TestValue(t *testing.T) {
	n := 0
	got := Value(t, "n is 2", func() (string, error) {
		if n++; n < 2 {
			return "early", errors.New("too early")
		}
		return "right", nil
	})
	if got != "right" {
		t.Errorf("got %q", got)
	}
}

func TestReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := make(chan int, 1)
		c <- 7
		if got := Receive(t, "a number", c); got != 7 {
			t.Errorf("got %d", got)
		}
		for what, wait := range map[string]func(testing.TB){
			"Receive": func(t testing.TB) { Receive(t, "a number", c) },
			"Done":    func(t testing.TB) { Done(t, "a number", c) },
		} {
			if text := failure(t, wait); !strings.Contains(text, "for a number") {
				t.Errorf("%s failed with %q", what, text)
			}
		}
		close(c)
		Done(t, "the end", c)
		if text := failure(t, func(t testing.TB) { Receive(t, "a number", c) }); !strings.Contains(text, "closed") {
			t.Errorf("a closed channel: %q", text)
		}
	})
}

// Pass moves the clock of a bubble, and refuses to hold up a test outside of one.
func TestPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if Pass(time.Hour); time.Since(begin) != time.Hour {
			t.Errorf("%v have passed, want an hour", time.Since(begin))
		}
	})
	defer func() {
		if recover() == nil {
			t.Error("outside of a bubble Pass did not panic")
		}
	}()
	Pass(time.Nanosecond)
}
